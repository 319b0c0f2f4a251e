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

/// Opens a LLaMA that has steps of the learner's.
using OpenLlama = std::unique_ptr<Model> (*)(const std::filesystem::path& path, const LoadOptions& options);

/// `roles`: what takes part beside `backend`, which outlives the engine. `open_llama`: null where the model is the
/// library's, or that of lesson 15 if it takes part. `opens` is told which model is opened, before it is.
std::unique_ptr<Engine> my_engine(const Backend& backend, std::span<const Role> roles, OpenLlama open_llama = nullptr,
                                  void (*opens)(const Config&) = nullptr);

}  // namespace rungs
