/// The story LLaMA on ranks that are threads, with the functions of this lesson: for main.
#pragma once

#include "lesson.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/parallel/thread_ranks.hpp"

namespace lesson_26 {

/// What came of one call.
struct Told {
  Tensor logits;                                             ///< (N, V) of rank 0
  bool alike = true;                                         ///< all ranks have the same bits
  int64_t parameters = 0;                                    ///< of rank 0
  int64_t all_reduces = 0, all_gathers = 0, bytes_sent = 0;  ///< calls of rank 0, bytes of all
};

/// Weights as f32, in memory.
inline ConstTensor as_f32(const ConstTensor& weight) { return converted(weight, DType::f32); }

/// A layer in f32, in memory.
inline LlamaLayer in_f32(const LlamaLayer& w) {
  return {as_f32(w.attention_norm), {as_f32(w.qkv.q), as_f32(w.qkv.k), as_f32(w.qkv.v), {}}, as_f32(w.o),
          as_f32(w.ffn_norm),       {as_f32(w.gate_up.gate), as_f32(w.gate_up.up), {}},      as_f32(w.down)};
}

/// How many numbers these weights are.
inline int64_t parameters_of(const LlamaLayer& w) {
  int64_t n = 0;
  for (const ConstTensor* t :
       {&w.attention_norm, &w.qkv.q, &w.qkv.k, &w.qkv.v, &w.o, &w.ffn_norm, &w.gate_up.gate, &w.gate_up.up, &w.down})
    n += t->count();
  return n;
}

/// One rank's part of the call; `told` is written by rank 0.
inline Tensor tell_as_rank(Communicator& ranks, const LlamaCheckpoint& model, const Tensor& tokens, Told& told) {
  const Config& c = model.config;
  const int64_t N = tokens.count();
  const Part words = share_of(c.vocab_size, ranks.rank(), ranks.ranks());
  const Tensor table = take_rows(as_f32(model.weights.token_embedding), words);  // (V / R, C)
  CpuOps ops;
  int64_t parameters = table.count() + c.hidden_size;
  Tensor x({N, c.hidden_size}), normed({N, c.hidden_size}), logits({N, c.vocab_size});
  embed(ranks, x, tokens, table, words);
  for (const LlamaLayer& weights : model.weights.layers) {
    const LlamaLayer whole = in_f32(weights), mine = split_layer(whole, c, ranks.rank(), ranks.ranks());
    parameters += parameters_of(mine);
    layer(ops, ranks, x, mine, c, model.weights.rotary);
  }
  ops.rms_norm(normed, x, as_f32(model.weights.final_norm), c.epsilon);
  output(ranks, logits, normed, table);
  if (ranks.rank() == 0)
    told.parameters = parameters, told.all_reduces = ranks.traffic().all_reduces,
    told.all_gathers = ranks.traffic().all_gathers;
  return logits;
}

/// One call for all tokens on so many ranks.
inline Told tell(const LlamaCheckpoint& model, const Tensor& tokens, int count) {
  Told told;
  std::vector<Tensor> logits(static_cast<size_t>(count));
  std::vector<int64_t> sent(static_cast<size_t>(count));
  run_ranks(count, [&](Communicator& ranks) {
    use_threads(1);
    const auto rank = size_t(ranks.rank());
    logits[rank] = tell_as_rank(ranks, model, tokens, told);
    sent[rank] = ranks.traffic().bytes_sent;
  });
  for (int rank = 0; rank < count; ++rank) {
    const Tensor& other = logits[size_t(rank)];
    told.alike = told.alike && std::equal(other.data(), other.data() + other.count(), logits[0].data());
    told.bytes_sent += sent[size_t(rank)];
  }
  told.logits = std::move(logits[0]);
  return told;
}

}  // namespace lesson_26
