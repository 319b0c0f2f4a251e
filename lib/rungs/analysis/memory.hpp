/// How much memory a model needs before it runs: parameters, KV cache, the largest batch, and the share of one GPU.
#pragma once

#include "rungs/model/config.hpp"
#include "rungs/tensor/dtype.hpp"

namespace rungs {

/// Two ways to count, which differ on purpose.
enum class Formula {
  exact,  ///< what a checkpoint holds, or what is really moved
  course  ///< a simpler model, as many course reports count; each function says what it leaves out
};

/// Parameters of a model, by the part that they belong to.
struct Parameters {
  int64_t embedding = 0;     ///< (V, C), and learned positions where a model has them
  int64_t attention = 0;     ///< all projections of all layers
  int64_t feed_forward = 0;  ///< all matrices of all layers
  int64_t norms = 0;         ///< two a layer, and the final one
  int64_t output = 0;        ///< (V, C); none where it is the embedding
  int64_t total() const { return embedding + attention + feed_forward + norms + output; }
};

/// Every number that a checkpoint of this shape stores. The course's formula counts two feed-forward matrices, with
/// biases, in place of three; no output projection of attention; no norms; and always an output table.
/// \throws UsageError where a count does not fit in 63 bits.
Parameters count_parameters(const Config& config, Formula formula = Formula::exact);

/// What one GPU holds when `gpus` share a model by tensor parallelism.
struct GpuShare {
  int64_t parameters = 0, cache_elements = 0;
};

/// Rows and columns of every matrix are dealt out. Exact: the norms stand on every GPU, and none has less than one
/// key/value head, so beyond G of them heads are copied. The course divides both totals. Shoeybi and others 2019,
/// "Megatron-LM". \throws UsageError for heads that cannot be dealt out evenly.
GpuShare share_of_gpu(const Config& config, int64_t context, int64_t gpus, Formula formula = Formula::exact);

/// How many requests fit beside the parameters; 0 where none does, or where the parameters do not fit either.
int64_t largest_batch(int64_t memory, int64_t parameter_bytes, int64_t cache_bytes);

/// Bytes that generate() takes on the CPU beside what memory_estimate counts: what CpuOps keeps for its products and
/// attention, and the logits that are brought to the host. `weights`: the dtype of most of them.
int64_t cpu_workspace(const Config& config, int64_t sequences, int64_t context, int64_t rows, DType weights);

}  // namespace rungs
