/// Lesson 22: how much memory a model needs, before it runs.
#pragma once

#include "rungs/model/config.hpp"

/// Lesson 22, 22_memory. Everything is counted from the shape of a LLaMA; nothing is loaded, and nothing measured.
namespace lesson_22 {

using namespace rungs;

/// Bytes as gigabytes of 2³⁰ bytes, which some call GiB.
double gigabytes(int64_t bytes);

/// Every number that a checkpoint of this shape stores: the token embedding (V, C); in each layer q and o between C and
/// H·D, k and v between C and G·D, three feed-forward matrices (F, C) and two norms (C); the final norm (C); and the
/// output projection (V, C), which a tied model does not store a second time.
int64_t parameters(const Config& c);

/// What a simpler model has, as many course reports count: q, k and v but no o; two feed-forward matrices, with their
/// biases (F) and (C); no norms; and always an output projection beside the embedding.
int64_t course_parameters(const Config& c);

/// Bytes of the keys and values of one request of `context` tokens, at element_bytes each.
int64_t cache_bytes(const Config& c, int64_t context, int64_t element_bytes);

/// Bytes that `batch` requests need, each with a cache of cache_bytes, and the parameters.
int64_t batch_bytes(int64_t parameter_bytes, int64_t cache_bytes, int64_t batch);

/// The most requests that fit into so many bytes of memory, parameters included; 0 where not even one does.
int64_t largest_batch(int64_t memory, int64_t parameter_bytes, int64_t cache_bytes);

/// What one GPU holds.
struct Share {
  int64_t parameter_bytes = 0, cache_bytes = 0;
};

/// The share of the fullest of `gpus` GPUs that run one model together. Query heads, key/value heads, F and V are dealt
/// out, the last two rounded up; the norms stand on every GPU, and none has less than one key/value head. A parameter
/// takes weight_bytes, an element of the cache element_bytes.  Shoeybi and others 2019, "Megatron-LM", section 3.
/// \throws std::invalid_argument for heads of either kind that cannot be dealt out evenly
Share per_gpu(const Config& c, int64_t gpus, int64_t context, int64_t weight_bytes, int64_t element_bytes);

}  // namespace lesson_22
