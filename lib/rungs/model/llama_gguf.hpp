/// A LLaMA in a GGUF file: what its metadata says of the model, and its tensors under the names of Hugging Face.
#pragma once

#include "rungs/checkpoint/gguf.hpp"
#include "rungs/model/config.hpp"

namespace rungs {

/// The path of a model names a GGUF file.
bool is_gguf(const std::filesystem::path& path);

/// \throws FileError naming the key, what was wanted and what was found; for an architecture that is no LLaMA
Config config_of_gguf(const std::filesystem::path& path);

/// Views of the mapping, but for the rows of q and k, which are copied into the order that is used here.
/// \throws FileError for a tensor that no LLaMA has
TensorSet open_llama_gguf(const std::filesystem::path& path, const Config& config);

}  // namespace rungs
