/// The operations of a decoder. Models are written against them; the CPU, the GPU and the learner stand behind them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Consecutive tokens of one sequence within a call: rows [first, first + count). `past` tokens of the sequence come
/// before them, so the first is at position `past`.
struct Segment {
  int64_t first, count;
  int64_t sequence, past;
  /// The sequence's block table, where the cache is paged: block i of it holds the tokens of positions [i, i + 1) ·
  /// block_size. Empty where a sequence has one block, its own.
  std::span<const int32_t> blocks = {};
};

/// The rows of one call on the device. Row n is token[n] of sequence[n] at position[n].
struct Rows {
  Tensor token, sequence, position;  ///< (N) i32
  Tensor logit_rows;                 ///< (M) i32: the rows whose logits the caller wants
  /// Of a paged cache on a GPU, i32: the block tables of the segments one behind the other, and where in them that of
  /// row n begins, (N). Elsewhere empty.
  Tensor block_tables, first_block;
  std::vector<Segment> segments;  ///< the same rows, segment by segment, on the host

  /// A decoding step: each row is of a sequence of its own.
  bool is_decode() const;
};

/// One layer's keys and values: row p of sequence b belongs to the token at position p. In a paged cache B
/// blocks of `capacity` tokens belong to whichever sequence has them in its block table. Lessons 8 to 13 have one
/// sequence, so no B, and lesson 8 no heads: (capacity, D).
struct LayerCache {
  Tensor k, v;  ///< (B, capacity, G, D). f32; on the CPU also bf16, f16 or q8_0
};

/// What may vary in attention; as it stands, that of LLaMA.
struct AttentionOptions {
  float scale = 0;     ///< of q · kᵀ; 0: 1/√D
  bool causal = true;  ///< a query sees no key after its own
  int64_t window = 0;  ///< a query sees no more than so many keys, the last its own (Mistral); 0: all
  float soft_cap = 0;  ///< scores become c · tanh(scores / c) before the softmax (Gemma 2); 0: they stay
  bool operator==(const AttentionOptions&) const = default;
};

/// The tables of rotary position embeddings (RoPE): row p holds cos and sin of p · θ_i for each pair i of a head's
/// elements.
struct RopeTables {
  ConstTensor cos, sin;  ///< (context, D/2)
};

/// Output first; shapes in the comment of each. Nothing is allocated by an operation on one row. Where shapes do not
/// fit, ShapeError is thrown. All are pure: what stands before another implementation, to time or to count it, does
/// not compile until it forwards each of them.
class Ops {
 public:
  virtual ~Ops() = default;

  /// out = x.  Same shape; on the CPU rounded to the dtype of out.
  virtual void copy(Tensor& out, const Tensor& x) = 0;
  /// out[n] = table[index[n]].  out: (N, C) f32; table: (V, C) f32, bf16 or f16; index: (N) i32, each in [0, V).
  virtual void embedding(Tensor& out, const Tensor& table, const Tensor& index) = 0;
  /// out = x · weightᵀ + bias.  out: (N, K); x: (N, C); weight: (K, C) f32, bf16 or f16; bias: (K) or empty. Everything
  /// but the weight is f32, and so are the sums.
  virtual void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) = 0;
  /// Each row: (x - mean) / √(variance + epsilon) · weight + bias, the variance over n.  out, x: (N, C); weight, bias:
  /// (C). Ba, Kiros, Hinton 2016, "Layer Normalization", equation 4.
  virtual void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) = 0;
  /// Each row: x / √(mean(x²) + epsilon) · weight.  out, x: (N, C); weight: (C) f32, bf16 or f16.
  /// Zhang, Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
  virtual void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) = 0;
  /// Turns each pair (x[i], x[i + D/2]) of each head by the angle of its row's position, in place.
  /// x: (N, H, D); rotary.cos, rotary.sin: (context, D/2); position: (N) i32, each in [0, context).
  /// Su and others 2021, "RoFormer", equation 34, with the pairs as halves of the head.
  virtual void apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) = 0;
  /// x = max(x, 0), in place.
  virtual void relu(Tensor& x) = 0;
  /// gate = silu(gate) ∘ up, in place; silu(x) = x / (1 + exp(-x)).  gate, up: (N, F).
  /// Shazeer 2020, "GLU Variants Improve Transformer", equation 6.
  virtual void silu_mul(Tensor& gate, const Tensor& up) = 0;
  /// x += y.  Same shape.
  virtual void add(Tensor& x, const Tensor& y) = 0;
  /// Each head: out = softmax(mask(q · kᵀ / √D)) · v for one sequence; query t stands at S - T + t and sees keys 0 to
  /// there, if `options` say nothing else. Query head h reads key/value head h / (H / G).  out, q: (T, H, D); k, v: (S,
  /// G, D) in a dtype of LayerCache; T <= S; or without the heads' dimension for one head.  Vaswani and others 2017,
  /// "Attention Is All You Need", equation 1; Ainslie and others 2023, "GQA".
  virtual void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                    const AttentionOptions& options = {}) = 0;
  /// Every row attends to the tokens of its own sequence up to itself.  out, q: (N, H, D); k, v: (N, G, D).
  /// With a cache, k and v go into their rows of it first and the past is read from it; without, each segment starts at
  /// position 0.
  virtual void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                         LayerCache* cache, const AttentionOptions& options = {}) = 0;
};

/// Ops::attention by `copy` and `sdpa`, segment by segment. \throws UsageError for a paged cache.
void attention_by_segment(Ops& ops, Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                          LayerCache* cache, const AttentionOptions& options);

}  // namespace rungs
