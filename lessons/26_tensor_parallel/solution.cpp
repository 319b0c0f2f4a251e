#include "lesson.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_26 {

/// All numbers of a tensor, as the communicator takes them.
static std::span<float> numbers(Tensor& tensor) { return {tensor.data(), size_t(tensor.count())}; }

Part share_of(int64_t n, int rank, int ranks) {
  // >>> the rank's run of n / ranks neighbours; \throws ShapeError("...") where ranks does not divide n
  if (n % ranks != 0) throw ShapeError("these cannot be dealt out evenly");
  const int64_t each = n / ranks;
  return {rank * each, each};
  // <<<
}

Part kv_share_of(int64_t G, int rank, int ranks) {
  // >>> G >= ranks: like anything else; fewer: ranks / G neighbours share a head; \throws ShapeError as share_of
  if (G >= ranks) return share_of(G, rank, ranks);
  if (ranks % G != 0) throw ShapeError("these cannot be dealt out evenly");
  return {rank / (ranks / G), 1};
  // <<<
}

Tensor take_rows(const Tensor& weight, Part rows) {
  const int64_t C = weight.dim(1);
  Tensor out({rows.count, C});
  // >>> row i of out = row rows.first + i of weight
  for (int64_t i = 0; i < rows.count; ++i)
    for (int64_t c = 0; c < C; ++c) out(i, c) = weight(rows.first + i, c);
  // <<<
  return out;
}

Tensor take_columns(const Tensor& weight, Part columns) {
  const int64_t K = weight.dim(0);
  Tensor out({K, columns.count});
  // >>> column i of out = column columns.first + i of weight
  for (int64_t k = 0; k < K; ++k)
    for (int64_t i = 0; i < columns.count; ++i) out(k, i) = weight(k, columns.first + i);
  // <<<
  return out;
}

LlamaLayer split_layer(const LlamaLayer& whole, const Config& config, int rank, int ranks) {
  const int64_t D = config.head_dim, F = whole.gate_up.gate.dim(0);
  Part q{0, 0}, kv{0, 0}, inner{0, 0};
  // >>> q, kv: which rows of q, and of k and v, are those of the rank's heads, D for each head; inner: its part of F
  const Part heads = share_of(config.num_heads, rank, ranks), kv_heads = kv_share_of(config.num_kv_heads, rank, ranks);
  q = {heads.first * D, heads.count * D};
  kv = {kv_heads.first * D, kv_heads.count * D};
  inner = share_of(F, rank, ranks);
  // <<<
  LlamaLayer mine;
  mine.attention_norm = whole.attention_norm.view(), mine.ffn_norm = whole.ffn_norm.view();
  // >>> mine.qkv.q, k, v, gate, up: rows (some of the outputs); mine.o, down: columns (some of the inputs)
  mine.qkv.q = take_rows(whole.qkv.q, q);
  mine.qkv.k = take_rows(whole.qkv.k, kv);
  mine.qkv.v = take_rows(whole.qkv.v, kv);
  mine.o = take_columns(whole.o, q);
  mine.gate_up.gate = take_rows(whole.gate_up.gate, inner);
  mine.gate_up.up = take_rows(whole.gate_up.up, inner);
  mine.down = take_columns(whole.down, inner);
  // <<<
  return mine;
}

/// out(n, k) += bias(k)
static void add_bias(Tensor& out, const Tensor& bias) {
  for (int64_t n = 0; n < out.dim(0); ++n)
    for (int64_t k = 0; k < out.dim(1); ++k) out(n, k) += bias(k);
}

void column_parallel(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  // >>> out = x · weightᵀ with matmul_transposed, then add_bias where there is a bias: `if (bias)`
  matmul_transposed(out, x, weight);
  if (bias) add_bias(out, bias);
  // <<<
}

void row_parallel(Communicator& ranks, Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  // >>> out = x · weightᵀ: the rank's inputs give a part of each sum
  matmul_transposed(out, x, weight);
  // <<<
  tap("partial", out);

  // >>> the sum over all ranks, ranks.all_reduce(numbers(out)), and where there is a bias, once that
  ranks.all_reduce(numbers(out));
  if (bias) add_bias(out, bias);
  // <<<
}

void embed(Communicator& ranks, Tensor& out, const Tensor& tokens, const Tensor& table, Part words) {
  const int64_t N = out.dim(0), C = out.dim(1);
  for (int64_t n = 0; n < N; ++n) {
    const int64_t id = tokens.at<int32_t>(n);
    for (int64_t c = 0; c < C; ++c) {
      // >>> out(n, c): from row id - words.first of the table, where the token is one of this rank's words; else 0
      const int64_t row = id - words.first;
      out(n, c) = row >= 0 && row < words.count ? table(row, c) : 0;
      // <<<
    }
  }
  tap("own", out);
  // >>> each token is known to one rank: the sum over all is its embedding
  ranks.all_reduce(numbers(out));
  // <<<
}

void output(Communicator& ranks, Tensor& logits, const Tensor& x, const Tensor& table) {
  const int64_t N = x.dim(0), R = ranks.ranks(), words = table.dim(0);
  Tensor mine({N, words}), all({R, N, words});  // all: rank 0's, then rank 1's, ...
  // >>> mine: column-parallel, x and the table, no bias: {}; then ranks.all_gather(numbers(all), numbers(mine))
  column_parallel(mine, x, table, {});
  ranks.all_gather(numbers(all), numbers(mine));
  // <<<

  for (int64_t r = 0; r < R; ++r)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t i = 0; i < words; ++i) {
        // >>> word i of rank r is word r · words + i of the vocabulary: one element of logits
        logits(n, r * words + i) = all(r, n, i);
        // <<<
      }
}

void attention(Ops& ops, Communicator& ranks, Tensor& out, const Tensor& x, const LlamaLayer& w, const Config& config,
               const RopeTables& rope) {
  const int64_t N = x.dim(0), D = config.head_dim, H = w.qkv.q.dim(0) / D,
                G = w.qkv.k.dim(0) / D;  // H, G: of this rank
  Tensor q({N, H, D}), k({N, G, D}), v({N, G, D}), attn_out({N, H, D});
  Tensor q_row = q.reshaped({N, H * D}), k_row = k.reshaped({N, G * D}), v_row = v.reshaped({N, G * D});  // same memory
  // >>> q_row, k_row, v_row: column-parallel products of x, without a bias: {}
  column_parallel(q_row, x, w.qkv.q, {});
  column_parallel(k_row, x, w.qkv.k, {});
  column_parallel(v_row, x, w.qkv.v, {});
  // <<<
  Tensor position({N}, DType::i32);
  for (int64_t n = 0; n < N; ++n) position.at<int32_t>(n) = int32_t(n);
  ops.apply_rope(q, rope, position);
  ops.apply_rope(k, rope, position);
  tap("q", q), tap("k", k), tap("v", v);

  ops.sdpa(attn_out, q, k, v);  // (N, H, D): the rank's heads need no others
  tap("attn_out", attn_out);
  const ConstTensor heads = attn_out.reshaped({N, H * D});
  // >>> out: what w.o makes of all ranks' heads; this rank has the columns of its own
  row_parallel(ranks, out, heads, w.o, {});
  // <<<
}

void feed_forward(Ops& ops, Communicator& ranks, Tensor& out, const Tensor& x, const LlamaLayer& w) {
  const int64_t N = x.dim(0), F = w.gate_up.gate.dim(0);  // F: of this rank
  Tensor gate({N, F}), up({N, F});
  // >>> gate and up: column-parallel; gate = silu(gate) ∘ up with ops.silu_mul; out: row-parallel with w.down
  column_parallel(gate, x, w.gate_up.gate, {});
  column_parallel(up, x, w.gate_up.up, {});
  ops.silu_mul(gate, up);
  row_parallel(ranks, out, gate, w.down, {});
  // <<<
}

void layer(Ops& ops, Communicator& ranks, Tensor& x, const LlamaLayer& w, const Config& config,
           const RopeTables& rope) {
  Tensor normed(x.shape()), out(x.shape());
  // >>> normed = ops.rms_norm of x; attention makes `out` of it, and out is added to x: ops.add
  ops.rms_norm(normed, x, w.attention_norm, config.epsilon);
  attention(ops, ranks, out, normed, w, config, rope);
  ops.add(x, out);
  // <<<
  tap("after_attention", x);

  // >>> the same with w.ffn_norm and feed_forward
  ops.rms_norm(normed, x, w.ffn_norm, config.epsilon);
  feed_forward(ops, ranks, out, normed, w);
  ops.add(x, out);
  // <<<
}

int64_t bytes_sent(int64_t layers, int64_t N, int64_t C, int64_t V, int ranks) {
  int64_t sum = 0, gather = 0;
  // >>> sum, gather: how many numbers all ranks send for one all_reduce of (N, C), one all_gather that makes (N, V)
  sum = 2 * (ranks - 1) * N * C;
  gather = (ranks - 1) * N * V;
  // <<<
  // >>> how often there is each in a call, 4 bytes a number
  return 4 * ((2 * layers + 1) * sum + gather);
  // <<<
}

}  // namespace lesson_26
