#include "rungs/parallel/split_llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rungs {

static bool can_split(const Config& c, int ranks) {
  return c.num_heads % ranks == 0 && (c.num_kv_heads % ranks == 0 || ranks % c.num_kv_heads == 0);
}

void check_ranks(const Config& c, int ranks) {
  if (can_split(c, ranks)) return;
  std::string those;
  for (int n = 1; n <= c.num_heads; ++n)
    if (can_split(c, n)) those += fmt::format("{}{}", those.empty() ? "" : ", ", n);
  throw UsageError(
      fmt::format("{}: {} query heads and {} key/value heads cannot be dealt out evenly to {} ranks; they can to {}",
                  c.directory.string(), c.num_heads, c.num_kv_heads, ranks, those));
}

Part kv_heads_of(const Config& c, int rank, int ranks) {
  if (ranks <= c.num_kv_heads) return part_of(c.num_kv_heads, rank, ranks);
  return {rank * c.num_kv_heads / ranks, 1};
}

namespace {

/// The part of one dimension that must not be empty.
Part some_of(const Config& c, const char* what, int64_t n, int rank, int ranks, int64_t grain = 1) {
  const Part part = part_of(n, rank, ranks, grain);
  if (part_of(n, ranks - 1, ranks, grain).count > 0) return part;
  const std::string blocks = grain > 1 ? fmt::format(" in blocks of {}", grain) : "";
  throw UsageError(fmt::format("{}: {} {}{} cannot be dealt out to {} ranks: the last would have none",
                               c.directory.string(), what, n, blocks, ranks));
}

/// How many neighbouring columns of these weights stay together.
int64_t grain_of(const LlamaCheckpoint& checkpoint) {
  int64_t grain = 1;
  for (const LlamaLayer& layer : checkpoint.weights.layers)
    grain = std::max({grain, elements_of_block(layer.o.dtype()), elements_of_block(layer.down.dtype())});
  return grain;
}

/// Columns of a weight, copied.  (K, C) -> (K, part.count)
ConstTensor columns(const Tensor& weight, Part part) {
  Tensor out = Tensor::uninitialised({weight.dim(0), part.count}, weight.dtype());
  const size_t from = bytes_of(weight.dtype(), weight.dim(1)), to = bytes_of(weight.dtype(), part.count);
  const auto* in = static_cast<const std::byte*>(weight.raw()) + bytes_of(weight.dtype(), part.first);
  for (int64_t k = 0; k < weight.dim(0); ++k)
    std::memcpy(static_cast<std::byte*>(out.raw()) + size_t(k) * to, in + size_t(k) * from, to);
  return out;
}

std::span<const std::byte> bytes_in(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.raw()), tensor.bytes()};
}

/// Cuts weights, and remembers which bytes of the files are still looked at.
struct Cutter {
  TensorSet& file;
  std::vector<std::span<const std::byte>> kept = {};

  void rows(ConstTensor& weight, Part part) {
    const ConstTensor view = weight.view_rows(part.first, part.count);
    weight = file.maps(view) ? view.view() : ConstTensor(view.copy());
    kept.push_back(bytes_in(weight));
  }
  void whole(ConstTensor& weight) { rows(weight, {0, weight.dim(0)}); }
};

}  // namespace

Config config_of_rank(const Config& c, int rank, int ranks) {
  check_ranks(c, ranks);
  Config mine = c;
  mine.num_heads = c.num_heads / ranks;
  mine.num_kv_heads = kv_heads_of(c, rank, ranks).count;
  mine.intermediate_size = some_of(c, "an intermediate_size of", c.intermediate_size, rank, ranks).count;
  return mine;
}

void split(LlamaCheckpoint& checkpoint, int rank, int ranks) {
  const Config c = checkpoint.config;
  Config mine = config_of_rank(c, rank, ranks);
  const int64_t grain = grain_of(checkpoint), D = c.head_dim;
  const Part heads = part_of(c.num_heads, rank, ranks), kv_heads = kv_heads_of(c, rank, ranks);
  const Part q{heads.first * D, heads.count * D}, kv{kv_heads.first * D, kv_heads.count * D};
  const Part inner = some_of(c, "an intermediate_size of", c.intermediate_size, rank, ranks, grain);
  const Part words = some_of(c, "a vocabulary of", c.vocab_size, rank, ranks);
  if (q.count % grain != 0)
    throw UsageError(
        fmt::format("{}: the quantized columns of o_proj cannot be dealt out to {} ranks: wanted a "
                    "multiple of {} for each, found {}; fewer ranks or bf16 weights can",
                    c.directory.string(), ranks, grain, q.count));
  mine.intermediate_size = inner.count;

  LlamaWeights& w = checkpoint.weights;
  Cutter cut{checkpoint.file};
  for (LlamaLayer& layer : w.layers) {
    cut.rows(layer.qkv.q, q);
    for (ConstTensor* weight : {&layer.qkv.k, &layer.qkv.v}) cut.rows(*weight, kv);
    for (ConstTensor* weight : {&layer.gate_up.gate, &layer.gate_up.up}) cut.rows(*weight, inner);
    for (ConstTensor* weight : {&layer.attention_norm, &layer.ffn_norm}) cut.whole(*weight);
    layer.o = columns(layer.o, q);
    layer.down = columns(layer.down, inner);
  }
  cut.whole(w.final_norm);
  cut.rows(w.token_embedding, words);
  if (c.tied)
    w.output = w.token_embedding.view();
  else
    cut.rows(w.output, words);
  w.num_heads = mine.num_heads, w.num_kv_heads = mine.num_kv_heads;
  checkpoint.config = mine;
  checkpoint.file.keep_only(cut.kept);
}

int64_t weight_bytes(const LlamaWeights& w) {
  const auto sum = [](std::initializer_list<const ConstTensor*> weights) {
    int64_t bytes = 0;
    for (const ConstTensor* weight : weights) bytes += int64_t(weight->bytes());
    return bytes;
  };
  int64_t bytes = sum({&w.token_embedding, &w.final_norm});
  if (w.output.raw() != w.token_embedding.raw()) bytes += int64_t(w.output.bytes());
  for (const LlamaLayer& l : w.layers)
    bytes += sum(
        {&l.attention_norm, &l.qkv.q, &l.qkv.k, &l.qkv.v, &l.o, &l.ffn_norm, &l.gate_up.gate, &l.gate_up.up, &l.down});
  return bytes;
}

}  // namespace rungs
