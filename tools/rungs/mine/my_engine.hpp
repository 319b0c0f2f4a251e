/// The engine where the learner's own code runs: every part is the learner's whose lesson passed.
#pragma once

#include <memory>
#include <span>

#include "engine.hpp"

namespace rungs {

/// What of a lesson takes part, and in which models.
struct Role {
  int lesson;
  const char* functions;
  bool llama, decoder;
};

/// `roles`: what takes part beside `backend`, which outlives the engine.
std::unique_ptr<Engine> my_engine(const Backend& backend, std::span<const Role> roles);

}  // namespace rungs
