/// The one seam: every operation that a decoder needs. Models are written against it; the CPU, the GPU and the learner
/// stand behind it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.hpp"

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
};

/// One layer's keys and values: row p of sequence b belongs to the token at position p.
struct LayerCache {
  Tensor k, v;  ///< (B, capacity, D)
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
  ///@}

  /// \name Fine operations
  ///@{

  /// out[n] = table[index[n]].  out: (N, C); table: (V, C); index: (N) i32, each in [0, V).
  virtual void gather(Tensor& out, const Tensor& table, const Tensor& index) = 0;
  /// out = x · weightᵀ + bias.  out: (N, K); x: (N, C); weight: (K, C); bias: (K) or empty.
  virtual void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) = 0;
  /// Each row: (x - mean) / √(variance + epsilon) · weight + bias, the variance over n.  out, x: (N, C); weight, bias:
  /// (C). Ba, Kiros, Hinton 2016, "Layer Normalization", equation 4.
  virtual void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) = 0;
  /// x = max(x, 0), in place.
  virtual void relu(Tensor& x) = 0;
  /// x += y.  Same shape.
  virtual void add(Tensor& x, const Tensor& y) = 0;
  /// out = softmax(mask(q · kᵀ / √D)) · v for one sequence; query t stands at S - T + t and sees keys 0 to there.
  /// out, q: (T, D); k, v: (S, D); T <= S.  Vaswani and others 2017, "Attention Is All You Need", equation 1.
  virtual void attend(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) = 0;
  ///@}

  /// \name Coarse operations: a device overrides them where fusion pays
  ///@{

  /// Every row attends to the tokens of its own sequence up to itself.  out, q, k, v: (N, D).
  /// With a cache, k and v go into their rows of it first and the past is read from it; without, each run starts at
  /// position 0.
  virtual void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                         LayerCache* cache);
  ///@}
};

}  // namespace rungs
