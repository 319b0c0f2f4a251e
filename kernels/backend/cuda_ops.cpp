#include "kernels/backend/cuda_ops.hpp"

#include "kernels/backend/add_bias.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/gemv/gemv.hpp"
#include "kernels/launch.cuh"
#include "kernels/layer_norm/layer_norm.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/silu_mul/silu_mul.hpp"
#include "rungs/ops/floats.hpp"
#include "rungs/ops/processor.hpp"
#include "rungs/ops/require.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

// Two bf16 parts of an activation are off by up to 2⁻¹⁷ of it, and so is the norm of a product's terms, whatever their
// number n. What a sum in f32 may be off by, 8·√n·2⁻²⁴ of that norm, is twice as much from here on.
static constexpr int64_t worth_two_parts = 1024;
// Where rounding is allowed: from here on the CPU, too, rounds where it has a dot product of bf16.
static constexpr int64_t worth_rounding = 768;

int CudaOps::parts_beside(const Tensor& weight) {
  if (weight.dtype() != DType::bf16) return 0;
  if (!exact_products() && weight.cols() >= worth_rounding) return 1;
  return weight.cols() >= worth_two_parts ? 2 : 0;
}

CudaOps::~CudaOps() { forget_captured(); }

void CudaOps::embedding(Tensor& out, const Tensor& table, const Tensor& index) {
  require_embedding(Place::gpu, out, table, index);
  const int N = as_int(index.count()), C = as_int(table.cols());
  if (N == 0) return;
  with_floats(table, [&](const auto* rows) { embedding_02(out.data(), rows, index.data<int32_t>(), N, C, stream_); });
}

// c = a · bᵀ where each row of a is in parts, by the best rung that the device has.
void CudaOps::matmul_in_parts(float* c, const bf16* a, const Tensor& b, int M, int parts) {
  const int N = as_int(b.rows()), K = as_int(b.cols());
#ifndef RUNGS_CUDA_ON_CPU  // the emulator has no wgmma
  if (matmul_08_runs_here()) return matmul_08(c, a, b.data<bf16>(), M, N, K, parts, stream_);
#endif
  matmul_07(c, a, b.data<bf16>(), M, N, K, parts, stream_);
}

// More rows than gemv takes.
void CudaOps::product(float* out, const Tensor& x, const Tensor& weight) {
  const int N = as_int(x.rows()), K = as_int(weight.rows()), C = as_int(x.cols());
  if (const int parts = parts_beside(weight)) {
    bf16* in_parts = parts_.need<bf16>(parts * x.count());
    split_bf16(in_parts, x.data(), N, C, parts, stream_);
    matmul_in_parts(out, in_parts, weight, N, parts);
  } else {
    with_floats(weight, [&](const auto* w) { matmul_05_transposed(out, x.data(), w, N, K, C, stream_); });
  }
}

void CudaOps::linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_linear(Place::gpu, out, x, weight, bias);
  const int N = as_int(x.rows()), K = as_int(weight.rows()), C = as_int(x.cols());
  if (out.count() == 0) return;
  if (N <= gemv_max_rows)
    with_floats(weight, [&](const auto* w) { gemv_04(out.data(), x.data(), w, N, K, C, stream_); });
  else
    product(out.data(), x, weight);
  if (bias) add_bias(out.data(), bias.data(), N, K, stream_);
}

void CudaOps::add_linear(Tensor& x, Tensor& product, const Tensor& y, const Tensor& weight) {
  if (y.rows() > gemv_max_rows || taps_are_watched()) return Steps::add_linear(x, product, y, weight);
  require_linear(Place::gpu, x, y, weight, {});
  const int N = as_int(y.rows()), K = as_int(weight.rows()), C = as_int(y.cols());
  if (x.count() == 0) return;
  with_floats(weight, [&](const auto* w) { gemv_add(x.data(), y.data(), w, N, K, C, stream_); });
}

void CudaOps::layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  require_layer_norm(Place::gpu, out, x, weight, bias);
  if (x.count() == 0) return;
  layer_norm_02(out.data(), x.data(), weight.data(), bias.data(), as_int(x.rows()), as_int(x.cols()), epsilon, stream_);
}

void CudaOps::rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) {
  require_rms_norm(Place::gpu, out, x, weight);
  if (x.count() == 0) return;
  with_floats(weight, [&](const auto* w) {
    rms_norm_03(out.data(), x.data(), w, as_int(x.rows()), as_int(x.cols()), epsilon, stream_);
  });
}

void CudaOps::relu(Tensor& x) {
  require_relu(Place::gpu, x);
  if (x.count() > 0) relu_02(x.data(), x.count(), stream_);
}

void CudaOps::silu_mul(Tensor& gate, const Tensor& up) {
  require_silu_mul(Place::gpu, gate, up);
  if (gate.count() > 0) silu_mul_02(gate.data(), up.data(), gate.count(), stream_);
}

void CudaOps::add(Tensor& x, const Tensor& y) {
  require_add(Place::gpu, x, y);
  if (x.count() > 0) add_02(x.data(), y.data(), x.count(), stream_);
}

// out = rms_norm(x) · weightᵀ for many rows: the norm writes what the product reads.
void CudaOps::norm_product(Tensor& out, Tensor& normed, const Tensor& x, const NormRef& norm, const Tensor& weight) {
  const int N = as_int(x.rows()), C = as_int(x.cols());
  const int parts = parts_beside(weight);
  if (parts == 0) {
    rms_norm(normed, x, norm.weight, norm.epsilon);
    return product(out.data(), normed, weight);
  }
  bf16* in_parts = parts_.need<bf16>(parts * x.count());
  with_floats(norm.weight,
              [&](const auto* w) { rms_norm_split(in_parts, x.data(), w, N, C, norm.epsilon, parts, stream_); });
  matmul_in_parts(out.data(), in_parts, weight, N, parts);
}

void CudaOps::norm_swiglu(Tensor& out, Tensor& up, Tensor& normed, const Tensor& x, const NormRef& norm,
                          const GateUpWeights& w) {
  require_swiglu(Place::gpu, out, up, x, w.gate, w.up);
  const int N = as_int(x.rows()), F = as_int(out.cols()), C = as_int(x.cols());
  if (out.count() == 0) return;
  const bool alike = norm.weight.dtype() == w.gate.dtype() && w.gate.dtype() == w.up.dtype();
  if (N <= gemv_max_rows && alike) {
    with_floats(w.gate, [&](const auto* gate) {
      using W = std::remove_cvref_t<decltype(*gate)>;
      gemv_norm_swiglu(out.data(), x.data(), norm.weight.data<W>(), norm.epsilon, gate, w.up.data<W>(), N, F, C,
                       stream_);
    });
  } else if (N > gemv_max_rows && w.packed) {
    Tensor gate_up = Tensor::view_of(packed_.need<float>(2 * out.count()), {N, 2 * F}, DType::f32, Place::gpu);
    norm_product(gate_up, normed, x, norm, w.packed);
    silu_mul_packed(out.data(), gate_up.data(), N, F, stream_);
  } else {
    Steps::norm_swiglu(out, up, normed, x, norm, w);
  }
}

}  // namespace rungs
