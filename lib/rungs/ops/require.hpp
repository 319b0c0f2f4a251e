/// The checks that begin an operation, the same on every device: where its tensors lie, and their shapes.
#pragma once

#include <fmt/format.h>

#include <string>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// "the CPU" or "the GPU": whose operations work on tensors that lie there.
inline const char* name_of(Place place) { return place == Place::host ? "the CPU" : "the GPU"; }

/// Begins an operation that works on tensors of `here`. \throws ShapeError naming the operation and every shape that
/// took part, or what lies elsewhere.
template <class... T>
void require(Place here, bool fits, const char* operation, const T&... tensors) {
  if ((... && (!tensors || tensors.place() == here))) {
    if (fits) return;
  } else {
    std::string places;
    ((places += (places.empty() ? "" : ", ") + std::string(tensors ? name_of(tensors.place()) : "nowhere")), ...);
    throw ShapeError(fmt::format("{}: works in the memory of {}; these tensors lie in that of {}", operation,
                                 name_of(here), places));
  }
  std::string shapes;
  ((shapes += (shapes.empty() ? "" : ", ") + to_string(tensors.shape())), ...);
  throw ShapeError(fmt::format("{}: these shapes do not fit together: {}", operation, shapes));
}

/// (N, H, D) seen as (N, H·D), the shape that a projection writes.
inline Tensor flat_heads(Tensor& heads) { return heads.reshaped({heads.dim(0), heads.count() / heads.dim(0)}); }

/// \name What fits together in each operation. \throws ShapeError
///@{

/// Of Ops::relu.
inline void require_relu(Place here, const Tensor& x) { require(here, true, "relu(x)", x); }
/// Of Ops::silu_mul.
inline void require_silu_mul(Place here, const Tensor& gate, const Tensor& up) {
  require(here, gate.shape() == up.shape(), "silu_mul(gate, up)", gate, up);
}
/// Of Ops::add.
inline void require_add(Place here, const Tensor& x, const Tensor& y) {
  require(here, x.shape() == y.shape(), "add(x, y)", x, y);
}
/// Of Ops::copy. The CPU alone rounds to another dtype.
inline void require_copy(Place here, const Tensor& out, const Tensor& x) {
  require(here, out.shape() == x.shape() && (here == Place::host || out.dtype() == x.dtype()), "copy(out, x)", out, x);
}
/// Of Ops::embedding.
inline void require_embedding(Place here, const Tensor& out, const Tensor& table, const Tensor& index) {
  require(here, out.rows() == index.count() && out.cols() == table.cols(), "embedding(out, table, index)", out, table,
          index);
}
/// Of Ops::linear.
inline void require_linear(Place here, const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(here,
          x.cols() == weight.cols() && out.rows() == x.rows() && out.cols() == weight.rows() &&
              (!bias || bias.count() == weight.rows()),
          "linear(out, x, weight, bias)", out, x, weight, bias);
}
/// Of Ops::layer_norm.
inline void require_layer_norm(Place here, const Tensor& out, const Tensor& x, const Tensor& weight,
                               const Tensor& bias) {
  require(here, out.shape() == x.shape() && weight.count() == x.cols() && bias.count() == x.cols(),
          "layer_norm(out, x, weight, bias)", out, x, weight, bias);
}
/// Of Ops::rms_norm.
inline void require_rms_norm(Place here, const Tensor& out, const Tensor& x, const Tensor& weight) {
  require(here, out.shape() == x.shape() && weight.count() == x.cols(), "rms_norm(out, x, weight)", out, x, weight);
}
/// Of Ops::apply_rope.
inline void require_rope(Place here, const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& position) {
  require(here, cos.cols() * 2 == x.cols() && cos.shape() == sin.shape() && position.count() == x.dim(0),
          "apply_rope(x, cos, sin, position)", x, cos, sin, position);
}
/// Of Steps::norm_swiglu.
inline void require_swiglu(Place here, const Tensor& hidden, const Tensor& up, const Tensor& x,
                           const Tensor& gate_weight, const Tensor& up_weight) {
  require(here,
          gate_weight.shape() == up_weight.shape() && gate_weight.cols() == x.cols() && hidden.shape() == up.shape() &&
              hidden.cols() == gate_weight.rows() && hidden.rows() == x.rows(),
          "norm_swiglu(hidden, x, gate, up)", hidden, x, gate_weight, up_weight);
}

/// The sizes of one call of sdpa.
struct SdpaSizes {
  int64_t T, S, H, G, D;
};
/// Checks them too.
inline SdpaSizes require_sdpa(Place here, const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const bool heads = q.shape().rank() == 3 && k.shape().rank() == 3;
  const SdpaSizes s = heads ? SdpaSizes{q.dim(0), k.dim(0), q.dim(1), k.dim(1), q.dim(2)} : SdpaSizes{};
  require(here,
          heads && out.shape() == q.shape() && k.shape() == v.shape() && k.dim(2) == s.D && s.T <= s.S && s.G > 0 &&
              s.H % s.G == 0,
          "sdpa(out, q, k, v)", out, q, k, v);
  return s;
}
///@}

}  // namespace rungs
