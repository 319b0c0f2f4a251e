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

/// What the metadata of such a file says of a model, but for its tokenizer; `dtype`: what most weights are stored in.
/// \throws UsageError for what GGUF has no name for: dynamic rope scaling, more than three tokens that end a text
std::vector<std::pair<std::string, GgufValue>> gguf_keys_of(const Config& config, DType dtype);

/// "blk.3.attn_q.weight" for "model.layers.3.self_attn.q_proj.weight": what GGUF calls a tensor of llama_tensors().
std::string gguf_name_of(const std::string& name);

}  // namespace rungs
