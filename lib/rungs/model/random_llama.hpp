/// A LLaMA that was never trained, of any size: for benchmarks and tests.
#pragma once

#include <functional>

#include "rungs/model/config.hpp"

namespace rungs {

/// Writes config.json, model.safetensors and a vocabulary.json of made-up words into an existing directory. The weights
/// are uniform, the same for the same seed on every platform, and scaled so that activations stay near one. `dtype`:
/// f32 or bf16. `on_written` is told the bytes of each tensor. \throws UsageError, before anything else is written,
/// when load_config() would refuse the config. FileError
void save_random_llama(const std::filesystem::path& directory, const Config& config, DType dtype, uint64_t seed,
                       const std::function<void(int64_t bytes)>& on_written = {});

}  // namespace rungs
