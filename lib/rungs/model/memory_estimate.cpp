#include "rungs/model/memory_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/checked.hpp"
#include "rungs/base/units.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/scratch.hpp"

namespace rungs {

int64_t cache_elements(const Config& c, int64_t context) {
  return product({2, c.num_layers, context, c.num_kv_heads, c.head_dim});  // of cache_shape, in every layer, k and v
}

MemoryEstimate memory_estimate(const Config& c, int64_t sequences, int64_t context, int64_t rows, DType cache) {
  constexpr int64_t f32 = 4, i32 = 4;
  const int64_t floats = c.is_llama() ? scratch_elements<LlamaScratch>(c) : scratch_elements<DecoderScratch>(c);
  const int64_t ids = 4;  // token, sequence, position, logit_rows
  MemoryEstimate f;
  f.cache = product({sequences, int64_t(bytes_of(cache, cache_elements(c, context)))});
  f.scratch = sum({product({rows, floats * f32 + ids * i32}), product({sequences, c.vocab_size, f32})});
  f.rope_tables = c.rotary ? product({context, c.head_dim, f32}) : 0;
  return f;
}

void check_memory(Device& device, const Config& config, int64_t weight_bytes, const LoadOptions& options) {
  const std::optional<int64_t> free = device.free_memory();
  if (!free) return;
  const auto needed = [&](int64_t capacity, int64_t table) {
    const int64_t rows = std::min(options.max_rows ? options.max_rows : config.max_seq_len, table);
    const MemoryEstimate f = memory_estimate(config, options.sequences, capacity, rows);
    const int64_t workspace = f.scratch;  // what a device's own kernels keep between them is about as much again
    return weight_bytes + f.cache + f.scratch + workspace + memory_estimate(config, 0, table, 0).rope_tables;
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
