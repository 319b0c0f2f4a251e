#include "rungs/ops/cpu_ops.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "rungs/ops/cpu_parts.hpp"
#include "rungs/ops/floats.hpp"
#include "rungs/ops/matrix.hpp"
#include "rungs/ops/upcast.hpp"

namespace rungs {

Tensor CpuOps::allocate(const Shape& shape, DType dtype) { return Tensor(shape, dtype); }
void CpuOps::upload(Tensor& device, const void* host) { std::memcpy(device.raw(), host, device.bytes()); }
void CpuOps::download(void* host, const Tensor& device) { std::memcpy(host, device.raw(), device.bytes()); }

void CpuOps::copy(Tensor& out, const Tensor& x) {
  require_copy(Place::host, out, x);
  convert(out, x);
}

void CpuOps::embedding(Tensor& out, const Tensor& table, const Tensor& index) {
  require_embedding(Place::host, out, table, index);
  const int64_t C = table.cols();
  for (int64_t n = 0; n < index.count(); ++n) {
    const int64_t row = index.data<int32_t>()[n];
    if (row < 0 || row >= table.rows())
      throw ShapeError(fmt::format("embedding: index {} at row {} is not in [0, {})", row, n, table.rows()));
    upcast(out.data() + n * C, table, row * C, C);
  }
}

void CpuOps::layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  require_layer_norm(Place::host, out, x, weight, bias);
  const auto in = matrix(x);
  auto normed = matrix(out);
  rows_in_parts(x, [&](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) {
      const float mean = in.row(n).mean();
      const float variance = (in.row(n).array() - mean).square().mean();
      const float scale = 1.0f / std::sqrt(variance + epsilon);
      normed.row(n) =
          ((in.row(n).array() - mean) * scale * row_vector(weight).array() + row_vector(bias).array()).matrix();
    }
  });
}

void CpuOps::rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) {
  require_rms_norm(Place::host, out, x, weight);
  const int64_t C = x.cols();
  with_floats(weight, [&](const auto* w) {
    rows_in_parts(x, [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n) {
        const float scale = 1.0f / std::sqrt(matrix(x).row(n).squaredNorm() / float(C) + epsilon);
        const float* in = x.data() + n * C;
        float* normed = out.data() + n * C;
#pragma omp simd
        for (int64_t c = 0; c < C; ++c) normed[c] = in[c] * scale * value_of(w[c]);
      }
    });
  });
}

void CpuOps::apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) {
  const int64_t N = x.dim(0), D = x.cols(), H = x.rows() / std::max<int64_t>(N, 1), half = D / 2;
  require_rope(Place::host, x, rotary.cos, rotary.sin, position);
  const int32_t* p = position.data<int32_t>();
  for (int64_t n = 0; n < N; ++n)
    if (p[n] < 0 || p[n] >= rotary.cos.rows())
      throw ShapeError(fmt::format("apply_rope: position {} at row {} is not in [0, {})", p[n], n, rotary.cos.rows()));
  rows_in_parts(x, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const float *cos = rotary.cos.data() + p[row / H] * half, *sin = rotary.sin.data() + p[row / H] * half;
      float *a = x.data() + row * D, *b = a + half;
#pragma omp simd
      for (int64_t i = 0; i < half; ++i) {
        const float before = a[i];
        a[i] = before * cos[i] - b[i] * sin[i];
        b[i] = b[i] * cos[i] + before * sin[i];
      }
    }
  });
}

void CpuOps::silu_mul(Tensor& gate, const Tensor& up) {
  require_silu_mul(Place::host, gate, up);
  rows_in_parts(gate, [&](int64_t first, int64_t last) {
    auto g = matrix(gate).middleRows(first, last - first).array();
    g = g / (1.0f + (-g).exp()) * matrix(up).middleRows(first, last - first).array();
  });
}

void CpuOps::relu(Tensor& x) {
  require_relu(Place::host, x);
  matrix(x) = matrix(x).cwiseMax(0.0f);
}

void CpuOps::add(Tensor& x, const Tensor& y) {
  require_add(Place::host, x, y);
  rows_in_parts(x, [&](int64_t first, int64_t last) {
    matrix(x).middleRows(first, last - first) += matrix(y).middleRows(first, last - first);
  });
}

void use_threads(int n) { omp_set_num_threads(n); }

}  // namespace rungs
