/// What a LLaMA's directory holds: the names and shapes of its tensors, and config.json as it is written.
#pragma once

#include "rungs/model/config.hpp"

namespace rungs {

/// The name that a tensor has in published files, and its shape.
struct TensorLayout {
  std::string name;
  Shape shape;
};

/// Every tensor of a LLaMA, from the token embedding to the output projection, which tied models do not have.
std::vector<TensorLayout> llama_tensors(const Config& config);

/// Writes DIR/config.json as transformers 4 does. `dtype`: what most weights are stored in. \throws FileError
void save_llama_config(const std::filesystem::path& directory, const Config& config, DType dtype);

}  // namespace rungs
