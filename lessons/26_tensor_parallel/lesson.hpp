/// Lesson 26: tensor parallelism, one LLaMA on several ranks.
#pragma once

#include "rungs/model/llama.hpp"
#include "rungs/parallel/communicator.hpp"

/// Lesson 26, 26_tensor_parallel. R ranks, threads here and processes in the library, run the same functions at once;
/// each has a part of the weights. Sizes with a ' are a rank's part: H' = H / R, F' = F / R.
namespace lesson_26 {

using namespace rungs;

/// The rank's part of n things: n / ranks neighbours. \throws ShapeError where that is no whole number
Part share_of(int64_t n, int rank, int ranks);

/// Which of the G key/value heads the rank's query heads read. With fewer heads than ranks it is one, which several
/// ranks have. \throws ShapeError where neither number divides the other
Part kv_share_of(int64_t G, int rank, int ranks);

/// Some rows of a weight, copied.  weight: (K, C); returns (rows.count, C).
Tensor take_rows(const Tensor& weight, Part rows);

/// Some columns of a weight, copied.  weight: (K, C); returns (K, columns.count).
Tensor take_columns(const Tensor& weight, Part columns);

/// The rank's part of a layer: rows of what makes heads and inner units, columns of what reads them; norms whole, as
/// views.
LlamaLayer split_layer(const LlamaLayer& whole, const Config& config, int rank, int ranks);

/// out = x · weightᵀ + bias for the rank's own outputs.  out: (N, K'); x: (N, C), the same on all ranks; weight: (K',
/// C) and bias: (K') are the rank's rows; an empty bias is none.
void column_parallel(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias);

/// out = the whole x · weightᵀ + bias, on every rank.  out: (N, K); x: (N, C') and weight: (K, C') are the rank's
/// columns; bias: (K), the same on all ranks, or empty.
void row_parallel(Communicator& ranks, Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias);

/// out[n] = the embedding of tokens[n], on every rank.  out: (N, C); tokens: (N) i32; table: (words.count, C), the rows
/// `words` of the whole (V, C).
void embed(Communicator& ranks, Tensor& out, const Tensor& tokens, const Tensor& table, Part words);

/// The logits of the whole vocabulary, on every rank.  logits: (N, V); x: (N, C); table: (V / R, C), the rank's rows.
void output(Communicator& ranks, Tensor& logits, const Tensor& x, const Tensor& table);

/// Attention of one sequence, from position 0.  out, x: (N, C), the same on all ranks; w: the rank's part.
void attention(Ops& ops, Communicator& ranks, Tensor& out, const Tensor& x, const LlamaLayer& w, const Config& config,
               const RopeTables& rope);

/// out = down(silu(gate(x)) ∘ up(x)).  out, x: (N, C), the same on all ranks; w: the rank's part.
void feed_forward(Ops& ops, Communicator& ranks, Tensor& out, const Tensor& x, const LlamaLayer& w);

/// One layer: x += attention(rms_norm(x)), then x += feed_forward(rms_norm(x)).  x: (N, C), the same on all ranks.
void layer(Ops& ops, Communicator& ranks, Tensor& x, const LlamaLayer& w, const Config& config, const RopeTables& rope);

/// How many bytes all ranks together send in one call of the model for N rows, all of which have logits: f32 numbers.
int64_t bytes_sent(int64_t layers, int64_t N, int64_t C, int64_t V, int ranks);

}  // namespace lesson_26
