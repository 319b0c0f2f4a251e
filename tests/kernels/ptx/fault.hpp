/// What the executor throws.
#pragma once

#include <stdexcept>

namespace rungs::ptx {

/// A kernel did what PTX leaves undefined or forbids, or what the executor does not know.
struct Fault : std::runtime_error {
  using runtime_error::runtime_error;
};

}  // namespace rungs::ptx
