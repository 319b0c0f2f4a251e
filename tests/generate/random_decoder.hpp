/// A decoder that was never trained, for tests and benchmarks.
#pragma once

#include "rungs/model/config.hpp"

namespace rungs::test {

/// Writes config.json and model.safetensors of this shape into an existing directory. The weights are uniform, the same
/// for the same seed on every platform, and scaled so that activations stay near one. \throws FileError
void save_random_decoder(const std::filesystem::path& directory, const Config& config, uint64_t seed);

}  // namespace rungs::test
