#include "ops/cpu_ops.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ops/matmul.hpp"
#include "ops/matrix.hpp"

namespace rungs {

// Where other programs keep the processors busy, threads that share a piece of work wait milliseconds for each other.
// So what takes less than about half a millisecond stays on one: so many elements of a loop, so many multiplications.
static constexpr int64_t worth_threads = 1 << 20;
static constexpr double product_worth_threads = 1 << 25;

/// work(i) for each i in [0, n), the last ones first. An OpenMP region allocates even where it runs on one thread, so
/// that is no region.
template <class Work>
static void each(int64_t n, bool threads, const Work& work) {
  if (!threads) {
    for (int64_t i = n; i-- > 0;) work(i);
    return;
  }
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < n; ++i) work(n - 1 - i);
}

/// Says how many threads Eigen may take for its next product; by itself it takes them all for next to nothing.
static void plan_product(int64_t rows, int64_t inner, int64_t columns) {
  const bool threads = double(rows) * double(inner) * double(columns) > product_worth_threads;
  Eigen::setNbThreads(threads ? 0 : 1);  // 0: as many as OpenMP has
}

/// \throws ShapeError naming the operation and every shape that took part.
template <class... T>
static void require(bool fits, const char* operation, const T&... tensors) {
  if (fits) return;
  std::string shapes;
  ((shapes += (shapes.empty() ? "" : ", ") + to_string(tensors.shape())), ...);
  throw ShapeError(fmt::format("{}: these shapes do not fit together: {}", operation, shapes));
}

void matmul(Tensor& out, const Tensor& a, const Tensor& b) {
  require(a.cols() == b.rows() && out.rows() == a.rows() && out.cols() == b.cols(), "matmul(out, a, b)", out, a, b);
  plan_product(a.rows(), a.cols(), b.cols());
  matrix(out).noalias() = matrix(a) * matrix(b);
}

void matmul_transposed(Tensor& out, const Tensor& a, const Tensor& b) {
  require(a.cols() == b.cols() && out.rows() == a.rows() && out.cols() == b.rows(), "matmul_transposed(out, a, b)", out,
          a, b);
  plan_product(a.rows(), a.cols(), b.rows());
  matrix(out).noalias() = matrix(a) * matrix(b).transpose();
}

/// out = elements [first, first + n) of a float tensor.
static void widen(float* out, const Tensor& x, int64_t first, int64_t n) {
  switch (x.dtype()) {
    case DType::f32:
      std::memcpy(out, x.data() + first, size_t(n) * sizeof(float));
      return;
    case DType::bf16:
      std::transform(x.data<bf16>() + first, x.data<bf16>() + first + n, out, [](bf16 a) { return to_float(a); });
      return;
    case DType::f16:
      std::transform(x.data<f16>() + first, x.data<f16>() + first + n, out, [](f16 a) { return to_float(a); });
      return;
    default:
      throw ShapeError(fmt::format("wanted weights in f32, bf16 or f16, found {}", name_of(x.dtype())));
  }
}

Tensor CpuOps::allocate(const Shape& shape, DType dtype) { return Tensor(shape, dtype); }
void CpuOps::upload(Tensor& device, const void* host) { std::memcpy(device.raw(), host, device.bytes()); }
void CpuOps::download(void* host, const Tensor& device) { std::memcpy(host, device.raw(), device.bytes()); }

void CpuOps::copy(Tensor& out, const Tensor& x) {
  require(out.shape() == x.shape() && out.dtype() == x.dtype(), "copy(out, x)", out, x);
  std::memcpy(out.raw(), x.raw(), x.bytes());
}

void CpuOps::gather(Tensor& out, const Tensor& table, const Tensor& index) {
  require(out.rows() == index.count() && out.cols() == table.cols(), "gather(out, table, index)", out, table, index);
  const int64_t C = table.cols();
  for (int64_t n = 0; n < index.count(); ++n) {
    const int64_t row = index.data<int32_t>()[n];
    if (row < 0 || row >= table.rows())
      throw ShapeError(fmt::format("gather: index {} at row {} is not in [0, {})", row, n, table.rows()));
    widen(out.data() + n * C, table, row * C, C);
  }
}

void CpuOps::linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.cols() == weight.cols() && out.rows() == x.rows() && out.cols() == weight.rows() &&
              (!bias || bias.count() == weight.rows()),
          "linear(out, x, weight, bias)", out, x, weight, bias);
  if (weight.dtype() != DType::f32) {  // some rows of the weight at a time, widened
    const int64_t C = weight.cols(), at_a_time = std::max<int64_t>(1, (1 << 18) / C);
    if (!widened_ || widened_.count() < at_a_time * C) widened_ = Tensor::uninitialised({at_a_time * C});
    for (int64_t first = 0; first < weight.rows(); first += at_a_time) {
      const int64_t n = std::min(at_a_time, weight.rows() - first);
      widen(widened_.data(), weight, first * C, n * C);
      plan_product(x.rows(), C, n);
      const Eigen::Map<const Matrix> some(widened_.data(), n, C);
      matrix(out).middleCols(first, n).noalias() = matrix(x) * some.transpose();
    }
    if (bias) matrix(out).rowwise() += row_vector(bias);
    return;
  }
  if (x.rows() == 1) {  // a product with one row is bound by reading the weights
    Eigen::Map<Eigen::VectorXf> y(out.data(), out.count());
    if (bias)
      y = row_vector(bias).transpose();
    else
      y.setZero();
    y.noalias() += matrix(weight) * row_vector(x).transpose();
    return;
  }
  plan_product(x.rows(), x.cols(), weight.rows());
  matrix(out).noalias() = matrix(x) * matrix(weight).transpose();
  if (bias) matrix(out).rowwise() += row_vector(bias);
}

void CpuOps::layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  require(out.shape() == x.shape() && weight.count() == x.cols() && bias.count() == x.cols(),
          "layer_norm(out, x, weight, bias)", out, x, weight, bias);
  const auto in = matrix(x);
  auto normed = matrix(out);
  const int64_t rows = in.rows(), at_a_time = 64;
  each((rows + at_a_time - 1) / at_a_time, x.count() > worth_threads, [&](int64_t block) {
    for (int64_t n = block * at_a_time; n < std::min(rows, (block + 1) * at_a_time); ++n) {
      const float mean = in.row(n).mean();
      const float variance = (in.row(n).array() - mean).square().mean();
      const float scale = 1.0f / std::sqrt(variance + epsilon);
      normed.row(n) =
          ((in.row(n).array() - mean) * scale * row_vector(weight).array() + row_vector(bias).array()).matrix();
    }
  });
}

void CpuOps::rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) {
  require(out.shape() == x.shape() && weight.count() == x.cols(), "rms_norm(out, x, weight)", out, x, weight);
  const auto in = matrix(x);
  auto normed = matrix(out);
  std::vector<float> own(size_t(weight.dtype() == DType::f32 ? 0 : weight.count()));
  if (!own.empty()) widen(own.data(), weight, 0, weight.count());
  const Eigen::Map<const RowVector> scales(own.empty() ? weight.data() : own.data(), weight.count());
  for (int64_t n = 0; n < in.rows(); ++n) {
    const float scale = 1.0f / std::sqrt(in.row(n).squaredNorm() / float(in.cols()) + epsilon);
    normed.row(n) = (in.row(n).array() * scale * scales.array()).matrix();
  }
}

void CpuOps::rotate(Tensor& x, const Rotary& rotary, const Tensor& position) {
  const int64_t N = x.dim(0), D = x.cols(), H = x.rows() / std::max<int64_t>(N, 1), half = D / 2;
  require(rotary.cos.cols() * 2 == D && rotary.cos.shape() == rotary.sin.shape() && position.count() == N,
          "rotate(x, cos, sin, position)", x, rotary.cos, rotary.sin, position);
  for (int64_t n = 0; n < N; ++n) {
    const int64_t p = position.data<int32_t>()[n];
    if (p < 0 || p >= rotary.cos.rows())
      throw ShapeError(fmt::format("rotate: position {} at row {} is not in [0, {})", p, n, rotary.cos.rows()));
    const float *cos = rotary.cos.data() + p * half, *sin = rotary.sin.data() + p * half;
    for (int64_t h = 0; h < H; ++h) {
      float* head = x.data() + (n * H + h) * D;
      for (int64_t i = 0; i < half; ++i) {
        const float a = head[i], b = head[i + half];
        head[i] = a * cos[i] - b * sin[i];
        head[i + half] = b * cos[i] + a * sin[i];
      }
    }
  }
}

void CpuOps::silu_times(Tensor& gate, const Tensor& up) {
  require(gate.shape() == up.shape(), "silu_times(gate, up)", gate, up);
  auto g = matrix(gate).array();
  g = g / (1.0f + (-g).exp()) * matrix(up).array();
}

void CpuOps::relu(Tensor& x) { matrix(x) = matrix(x).cwiseMax(0.0f); }

void CpuOps::add(Tensor& x, const Tensor& y) {
  require(x.shape() == y.shape(), "add(x, y)", x, y);
  matrix(x) += matrix(y);
}

/// Each row of scores, of which the first sees `visible` keys and each next one more: softmax over those, 0 beyond.
static void softmax_of_visible(Eigen::Map<Matrix>& scores, int64_t visible) {
  for (int64_t i = 0; i < scores.rows(); ++i, ++visible) {
    auto row = scores.row(i).head(visible);
    const float largest = row.maxCoeff();
    row = (row.array() - largest).exp().matrix();
    row /= row.sum();
    scores.row(i).tail(scores.cols() - visible).setZero();
  }
}

/// Every G-th row of D: one head of (S, G, D).
using HeadOf = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

// Some queries of one head at a time, so that their scores stay in the processor's cache, and each thread takes the
// next of them.
void CpuOps::attend(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t T = q.dim(0), S = k.dim(0), D = q.cols();
  const int64_t H = q.shape().rank() == 3 ? q.dim(1) : 1, G = k.shape().rank() == 3 ? k.dim(1) : 1;
  require(out.shape() == q.shape() && k.shape() == v.shape() && k.cols() == D && T <= S && G > 0 && H % G == 0,
          "attend(out, q, k, v)", out, q, k, v);
  if (T == 0) return;
  constexpr int64_t enough = 1 << 15;  // floats, 128 KiB
  const int64_t at_a_time = std::clamp<int64_t>(enough / S, 1, T), scratch = std::max(enough, S);
  const bool threads = double(T) * double(S) * double(H * D) > product_worth_threads;
  const size_t wanted = size_t(scratch) * size_t(threads ? omp_get_max_threads() : 1);
  if (scores_.size() < wanted) scores_.resize(wanted);
  const float scale = 1.0f / std::sqrt(float(D));
  Eigen::setNbThreads(1);

  const int64_t blocks = (T + at_a_time - 1) / at_a_time;
  each(blocks * H, threads, [&](int64_t work) {
    const int64_t first = work / H * at_a_time, h = work % H, g = h / (H / G), n = std::min(at_a_time, T - first);
    const int64_t seen = S - T + first + n;  // keys that the last of these queries sees
    const HeadOf queries(q.data() + (first * H + h) * D, n, D, Eigen::OuterStride<>(H * D));
    const HeadOf keys(k.data() + g * D, seen, D, Eigen::OuterStride<>(G * D));
    const HeadOf values(v.data() + g * D, seen, D, Eigen::OuterStride<>(G * D));
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> read(out.data() + (first * H + h) * D, n, D,
                                                     Eigen::OuterStride<>(H * D));
    float* own = scores_.data() + (threads ? omp_get_thread_num() * scratch : 0);
    Eigen::Map<Matrix> scores(own, n, seen);  // (n, seen)
    if (n == 1)
      scores.row(0).transpose().noalias() = keys * (queries.row(0) * scale).transpose();
    else
      scores.noalias() = (queries * scale) * keys.transpose();
    softmax_of_visible(scores, seen - n + 1);
    if (n == 1)
      read.row(0).noalias() = scores.row(0) * values;
    else
      read.noalias() = scores * values;
  });
}

}  // namespace rungs
