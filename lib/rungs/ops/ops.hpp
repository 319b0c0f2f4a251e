/// The one seam: every operation that a decoder needs. Models are written against it; the CPU, the GPU and the learner
/// stand behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "rungs/ops/sample_options.hpp"
#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Consecutive tokens of one sequence within a call: rows [first, first + count), the first at position `start`.
struct Run {
  int64_t first, count;
  int64_t sequence, start;
};

/// The rows of one call on the device. Row n is token[n] of sequence[n] at position[n].
struct Rows {
  Tensor token, sequence, position;  ///< (N) i32
  Tensor wanted;                     ///< (M) i32: the rows whose logits the caller wants
  std::vector<Run> runs;             ///< the same rows, run by run, on the host

  /// A step of decoding: no row follows the one before it in the same sequence.
  bool is_decode() const { return int64_t(runs.size()) == token.count(); }
};

/// Names a step of a model: calls with the same key run the same operations on the same memory, and only what is in
/// that memory differs.
struct StepKey {
  const void *model, *logits, *cache;  ///< where they are
  int64_t rows, wanted;                ///< N, M
  bool operator==(const StepKey&) const = default;
};

/// One layer's keys and values: row p of sequence b belongs to the token at position p.
struct LayerCache {
  Tensor k, v;  ///< (B, capacity, G, D); with one head (B, capacity, D)
};

/// The angles of rotary positions: row p holds cos and sin of p · θ_i for each pair i of a head's elements.
struct RopeTables {
  Tensor cos, sin;  ///< (context, D/2)
};

/// What stands between the residual stream and attention: a norm and three projections.
struct QkvWeights {
  const Tensor &norm, &q, &k, &v;  ///< (C); (H·D, C), (G·D, C), (G·D, C)
  float epsilon;
};

/// What self_attention computes on its way: scratch that a device may leave unwritten unless taps are watched.
struct QkvScratch {
  Tensor &normed, &q, &k, &v;  ///< (N, C); (N, H, D), (N, G, D), (N, G, D)
};

/// The first half of a gated feed-forward: a norm and two projections.
struct GatedWeights {
  const Tensor &norm, &gate, &up;  ///< (C); (F, C), (F, C)
  float epsilon;
};

/// Output first; shapes in the comment of each. Nothing is allocated by an operation on one row. Where shapes do not
/// fit, ShapeError is thrown.
class Ops {
 public:
  virtual ~Ops() = default;

  /// \name Memory of the device
  ///@{
  virtual Tensor allocate(const Shape& shape, DType dtype = DType::f32) = 0;
  virtual void upload(Tensor& device, const void* host) = 0;    ///< device.bytes() bytes
  virtual void download(void* host, const Tensor& device) = 0;  ///< device.bytes() bytes
  virtual void copy(Tensor& out, const Tensor& x) = 0;          ///< same shape, both on the device
  /// Brings weights that are used together from the host to where the operations read them, one behind the other. Those
  /// of the CPU stay where they are.
  virtual void settle(std::initializer_list<Tensor*> weights);
  /// How many bytes of the device's memory are free; none where it is the memory of everybody.
  virtual std::optional<int64_t> free_memory() { return {}; }
  ///@}

  /// \name Fine operations
  ///@{

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
  /// there. Query head h reads key/value head h / (H / G).  out, q: (T, H, D); k, v: (S, G, D); T <= S; or without the
  /// heads' dimension for one head.  Vaswani and others 2017, "Attention Is All You Need", equation 1; Ainslie and
  /// others 2023, "GQA".
  virtual void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) = 0;
  ///@}

  /// \name Coarse operations: a device overrides them where fusion pays
  ///@{

  /// Every row attends to the tokens of its own sequence up to itself.  out, q: (N, H, D); k, v: (N, G, D); or (N, D).
  /// With a cache, k and v go into their rows of it first and the past is read from it; without, each run starts at
  /// position 0.
  virtual void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                         LayerCache* cache);
  /// normed = rms_norm(x); q, k, v = its projections, q and k rotated.  x, normed: (N, C); q: (N, H, D); k, v: (N, G,
  /// D). `normed` is scratch: a device that fuses may leave it unwritten.
  virtual void norm_qkv(Tensor& normed, Tensor& q, Tensor& k, Tensor& v, const Tensor& x, const QkvWeights& w,
                        const RopeTables& rotary, const Rows& rows);
  /// hidden = silu(normed · gateᵀ) ∘ (normed · upᵀ) with normed = rms_norm(x).  hidden, up: (N, F); x, normed: (N, C).
  /// `normed` and `up` are scratch.
  virtual void norm_gated(Tensor& normed, Tensor& hidden, Tensor& up, const Tensor& x, const GatedWeights& w);
  /// out = the attention of rms_norm(x): norm_qkv, then attention.  out: (N, H, D); x: (N, C).
  virtual void self_attention(Tensor& out, const QkvScratch& scratch, const Tensor& x, const QkvWeights& w,
                              const RopeTables& rotary, const Rows& rows, LayerCache* cache);
  /// x += y · weightᵀ.  x, product: (N, C); y: (N, K); weight: (C, K). `product` is scratch that a device may leave
  /// unwritten unless taps are watched.
  virtual void add_linear(Tensor& x, Tensor& product, const Tensor& y, const Tensor& weight);
  ///@}

  /// \name A step as a whole
  ///@{

  /// Runs `step`, which calls operations of this object and nothing else. A device may remember what an earlier step of
  /// the same key launched, and launch that instead.
  virtual void replay(const StepKey& key, const std::function<void()>& step);
  /// token[n] = what sample(probabilities(row n of logits), draw[n]) of rungs/generate chooses, or -1 where the row has
  /// a logit that is not finite; only the tokens leave the device.  token, draw: N on the host; logits: (N, V). Returns
  /// false, having done nothing, where that is left to the host.
  virtual bool choose(std::span<int32_t> token, const Tensor& logits, const SampleOptions& options,
                      std::span<const double> draw);
  ///@}
};

}  // namespace rungs
