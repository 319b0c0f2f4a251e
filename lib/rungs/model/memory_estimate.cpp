#include "rungs/model/memory_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/checked.hpp"
#include "rungs/base/units.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/scratch.hpp"
#include "rungs/ops/cpu_workspace.hpp"

namespace rungs {

int64_t cache_elements(const Config& c, int64_t context) {
  return product({2, c.num_layers, context, c.num_kv_heads, c.head_dim});  // of cache_shape, in every layer, k and v
}

MemoryEstimate memory_estimate(const Config& c, int64_t sequences, int64_t context, int64_t rows) {
  constexpr int64_t f32 = 4, i32 = 4;
  const int64_t floats = c.is_llama() ? scratch_elements<LlamaScratch>(c) : scratch_elements<DecoderScratch>(c);
  const int64_t ids = 4;  // token, sequence, position, logit_rows
  MemoryEstimate f;
  f.cache = sequences * cache_elements(c, context) * f32;
  f.scratch = rows * (floats * f32 + ids * i32) + sequences * c.vocab_size * f32;
  f.angles = c.rotary ? context * c.head_dim * f32 : 0;
  return f;
}

int64_t cpu_workspace(const Config& c, int64_t sequences, int64_t context, int64_t rows, DType weights) {
  const int64_t q_width = c.num_heads * c.head_dim, kv_width = c.num_kv_heads * c.head_dim;
  const struct {
    int64_t rows, out, in;
  } products[] = {{rows, q_width, c.hidden_size},
                  {rows, kv_width, c.hidden_size},
                  {rows, c.hidden_size, q_width},
                  {rows, c.intermediate_size, c.hidden_size},
                  {rows, c.hidden_size, c.intermediate_size},
                  {sequences, c.vocab_size, c.hidden_size}};  // the logits are of one row a sequence
  int64_t upcast = 0, packed = 0;
  for (const auto& product : products) {
    const LinearWorkspace bytes = linear_workspace(product.rows, product.out, product.in, weights);
    upcast = std::max(upcast, bytes.upcast);  // one after the other in the same memory
    packed = std::max(packed, bytes.packed);
  }
  const int64_t host_logits = sequences * c.vocab_size * int64_t(sizeof(float));
  return upcast + packed + attention_workspace(std::min(rows, context), context, c.num_heads, c.head_dim) + host_logits;
}

void check_memory(Device& device, const Config& config, int64_t weight_bytes, const LoadOptions& options) {
  const std::optional<int64_t> free = device.free_memory();
  if (!free) return;
  const auto needed = [&](int64_t capacity, int64_t table) {
    const int64_t rows = std::min(options.max_rows ? options.max_rows : config.max_seq_len, table);
    const MemoryEstimate f = memory_estimate(config, options.sequences, capacity, rows);
    const int64_t workspace = f.scratch;  // what a device's own kernels keep between them is about as much again
    return weight_bytes + f.cache + f.scratch + workspace + memory_estimate(config, 0, table, 0).angles;
  };
  const int64_t all = needed(options.capacity, config.max_seq_len);
  if (all <= *free) return;
  int64_t fits = 0;  // the longest context that does
  for (int64_t beyond = config.max_seq_len + 1; beyond - fits > 1;) {
    const int64_t middle = (fits + beyond) / 2;
    (needed(middle, middle) <= *free ? fits : beyond) = middle;
  }
  const std::string advice = fits > 0 ? fmt::format("a context of {} tokens would fit", fits)
                                      : fmt::format("its weights alone take {}", in_units(weight_bytes));
  throw Error(fmt::format("{} needs {} of the device's memory, of which {} are free: {}", config.directory.string(),
                          in_units(all), in_units(*free), advice));
}

}  // namespace rungs
