/// What an option may be, where only the model can tell.
#pragma once

#include <fmt/format.h>

#include <string>

#include "rungs/base/error.hpp"

namespace rungs {

/// \throws UsageError "--slots: wanted 1 to 1024, found 0", unless it is `good`
template <class Value>
void need(const char* option, bool good, const std::string& wanted, const Value& found) {
  if (!good) throw UsageError(fmt::format("{}: wanted {}, found {}", option, wanted, found));
}

}  // namespace rungs
