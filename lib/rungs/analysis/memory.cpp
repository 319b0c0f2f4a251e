#include "rungs/analysis/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/checked.hpp"
#include "rungs/model/memory_estimate.hpp"
#include "rungs/ops/cpu_workspace.hpp"

namespace rungs {

Parameters count_parameters(const Config& c, Formula formula) {
  const int64_t q_width = product({c.num_heads, c.head_dim}), kv_width = product({c.num_kv_heads, c.head_dim});
  const bool course = formula == Formula::course;
  const bool biases = !course && !c.gated;  // of every product, as in the decoders of part I
  Parameters p;
  p.embedding = product({c.vocab_size, c.hidden_size});
  p.attention = product({c.num_layers, c.hidden_size, sum({q_width, kv_width, kv_width, course ? 0 : q_width})});
  p.feed_forward = product({c.num_layers, course || !c.gated ? 2 : 3, c.hidden_size, c.intermediate_size});
  p.output = c.tied && !course ? 0 : p.embedding;
  if (course) {
    p.feed_forward =
        sum({p.feed_forward, product({c.num_layers, c.intermediate_size}), product({c.num_layers, c.hidden_size})});
  } else {
    p.norms = product({2 * c.num_layers + 1, c.hidden_size, c.rms_norm ? 1 : 2});
    if (!c.rotary) p.embedding = sum({p.embedding, product({c.max_seq_len, c.hidden_size})});
  }
  if (biases) {
    p.attention = sum({p.attention, product({c.num_layers, q_width + 2 * kv_width + c.hidden_size})});
    p.feed_forward = sum({p.feed_forward, product({c.num_layers, c.intermediate_size + c.hidden_size})});
    p.output = sum({p.output, c.vocab_size});
  }
  sum({p.embedding, p.attention, p.feed_forward, p.norms, p.output});  // total() cannot overflow either
  return p;
}

GpuShare share_of_gpu(const Config& c, int64_t context, int64_t gpus, Formula formula) {
  const Parameters p = count_parameters(c, formula);
  const auto part = [gpus](int64_t whole) { return whole / gpus + (whole % gpus != 0); };
  if (c.num_heads % gpus != 0)
    throw UsageError(fmt::format("tp: {} query heads cannot be dealt out evenly to {} GPUs", c.num_heads, gpus));
  if (formula == Formula::course) return {part(p.total()), part(cache_elements(c, context))};
  if (c.num_kv_heads % gpus != 0 && gpus % c.num_kv_heads != 0)
    throw UsageError(fmt::format("tp: {} key/value heads cannot be dealt out evenly to {} GPUs", c.num_kv_heads, gpus));
  Config mine = c;  // a model of this GPU's heads and rows
  mine.num_heads = c.num_heads / gpus;
  mine.num_kv_heads = std::max<int64_t>(1, c.num_kv_heads / gpus);
  mine.intermediate_size = part(c.intermediate_size);
  mine.vocab_size = part(c.vocab_size);
  return {count_parameters(mine).total(), cache_elements(mine, context)};
}

int64_t largest_batch(int64_t memory, int64_t parameter_bytes, int64_t cache_bytes) {
  return parameter_bytes > memory ? 0 : (memory - parameter_bytes) / cache_bytes;
}

int64_t cpu_workspace(const Config& c, int64_t sequences, int64_t context, int64_t rows, DType weights) {
  const int64_t q_width = c.num_heads * c.head_dim;
  const struct {
    int64_t rows, in;
  } products[] = {{rows, c.hidden_size}, {rows, q_width}, {rows, c.intermediate_size}, {sequences, c.hidden_size}};
  int64_t arranged = 0;  // one after the other in the same memory
  for (const auto& product : products)
    arranged = std::max(arranged, linear_workspace(product.rows, product.in, weights));
  const int64_t host_logits = sequences * c.vocab_size * int64_t(sizeof(float));
  const int64_t attention = attention_workspace(std::min(rows, context), context, c.num_heads, c.head_dim);
  return arranged + attention + host_logits;
}

}  // namespace rungs
