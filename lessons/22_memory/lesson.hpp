/// Lesson 22: how much memory a model needs, before it runs.
#pragma once

#include "rungs/model/config.hpp"

/// Lesson 22, 22_memory. Everything is counted from the shape of a LLaMA; nothing is loaded, and nothing measured.
namespace lesson_22 {

using namespace rungs;

/// Bytes as GiB: in units of 2³⁰ bytes.
double gibibytes(int64_t bytes);

/// Every number that a checkpoint of this shape stores: the token embedding (V, C); in each layer q and o between C and
/// H·D, k and v between C and G·D, three feed-forward matrices (F, C) and two norms (C); the final norm (C); and the
/// output projection (V, C), which a tied model does not store a second time.
int64_t parameters(const Config& c);

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

/// Bytes of numbers that are stored in blocks of 32: each number takes `bits` bits, 8 or 4, and each block a scale of 2
/// bytes. A block that is not full takes as much as the others. These are Q8_0 and Q4_0 of GGUF, of weights or caches.
int64_t quantized_bytes(int64_t numbers, int64_t bits);

/// Bytes of the logits of `rows` tokens, in f32.
int64_t logits_bytes(const Config& c, int64_t rows);

/// Bytes of what a call of `rows` tokens computes and forgets, in f32, where every tensor has memory of its own and all
/// layers use the same: x, its norm and the projected attention output (rows, C); q and the attention output (rows,
/// H·D); k and v (rows, G·D); gate and up (rows, F). Scores are not stored: attention is fused, as in lesson 19.
int64_t workspace_bytes(const Config& c, int64_t rows);

/// Bytes of cache that a request of `context` tokens holds where the cache is given out in pages of `page` tokens.
int64_t paged_bytes(const Config& c, int64_t context, int64_t page, int64_t element_bytes);

}  // namespace lesson_22
