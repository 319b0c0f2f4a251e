/// A forward pass that refuses to go on with broken numbers.
#pragma once

#include <span>

#include "rungs/model/model.hpp"

namespace rungs {

/// Model::forward, and then host = logits. \throws Error when a logit is not finite: the batch is run once more, and
/// the first tap that is not finite is named.
void forward_finite(Model& model, std::span<float> host, Tensor& logits, const Batch& batch, KvCache* cache);

/// host = logits. Returns false when one of them is not finite.
bool download_finite(Device& device, std::span<float> host, const Tensor& logits);

/// \throws Error always, after a call whose logits were not finite: the same call runs once more, as forward_finite
/// says.
[[noreturn]] void fail_not_finite(Model& model, Tensor& logits, const Batch& batch, KvCache* cache);

}  // namespace rungs
