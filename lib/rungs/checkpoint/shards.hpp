/// The weights of a model directory, in one safetensors file or in several.
#pragma once

#include "rungs/checkpoint/tensor_set.hpp"

namespace rungs {

/// Opens DIR/model.safetensors; or, where that is absent, the shards that DIR/model.safetensors.index.json names, as
/// one set. \throws FileError when neither is there; for a shard that is missing or that the index does not name, a
/// tensor that its shard does not hold, and a tensor of a shard that the index does not name.
TensorSet open_shards(const std::filesystem::path& directory);

}  // namespace rungs
