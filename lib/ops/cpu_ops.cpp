#include "ops/cpu_ops.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "ops/matmul.hpp"
#include "ops/matrix.hpp"

namespace rungs {

// Below this many elements a loop stays on one thread: waking the others costs more.
static constexpr int64_t worth_threads = 1 << 16;

/// work(i) for each i in [0, n). An OpenMP region allocates even where it runs on one thread, so that is no region.
template <class Work>
static void each_row(int64_t n, bool threads, const Work& work) {
  if (!threads) {
    for (int64_t i = 0; i < n; ++i) work(i);
    return;
  }
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) work(i);
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
  matrix(out).noalias() = matrix(a) * matrix(b);
}

void matmul_transposed(Tensor& out, const Tensor& a, const Tensor& b) {
  require(a.cols() == b.cols() && out.rows() == a.rows() && out.cols() == b.rows(), "matmul_transposed(out, a, b)", out,
          a, b);
  matrix(out).noalias() = matrix(a) * matrix(b).transpose();
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
    std::memcpy(out.data() + n * C, table.data() + row * C, size_t(C) * sizeof(float));
  }
}

void CpuOps::linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.cols() == weight.cols() && out.rows() == x.rows() && out.cols() == weight.rows() &&
              (!bias || bias.count() == weight.rows()),
          "linear(out, x, weight, bias)", out, x, weight, bias);
  if (x.rows() == 1) {  // a product with one row is bound by reading the weights
    Eigen::Map<Eigen::VectorXf> y(out.data(), out.count());
    if (bias)
      y = row_vector(bias).transpose();
    else
      y.setZero();
    y.noalias() += matrix(weight) * row_vector(x).transpose();
    return;
  }
  matrix(out).noalias() = matrix(x) * matrix(weight).transpose();
  if (bias) matrix(out).rowwise() += row_vector(bias);
}

void CpuOps::layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  require(out.shape() == x.shape() && weight.count() == x.cols() && bias.count() == x.cols(),
          "layer_norm(out, x, weight, bias)", out, x, weight, bias);
  const auto in = matrix(x);
  auto normed = matrix(out);
  each_row(in.rows(), x.count() > worth_threads, [&](int64_t n) {
    const float mean = in.row(n).mean();
    const float variance = (in.row(n).array() - mean).square().mean();
    const float scale = 1.0f / std::sqrt(variance + epsilon);
    normed.row(n) =
        ((in.row(n).array() - mean) * scale * row_vector(weight).array() + row_vector(bias).array()).matrix();
  });
}

void CpuOps::relu(Tensor& x) { matrix(x) = matrix(x).cwiseMax(0.0f); }

void CpuOps::add(Tensor& x, const Tensor& y) {
  require(x.shape() == y.shape(), "add(x, y)", x, y);
  matrix(x) += matrix(y);
}

// The scores of as many queries at a time as fit in the scratch, which then stays in the processor's cache.
void CpuOps::attend(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t T = q.rows(), S = k.rows(), D = q.cols();
  require(out.shape() == q.shape() && k.shape() == v.shape() && k.cols() == D && T <= S, "attend(out, q, k, v)", out, q,
          k, v);
  if (T == 0) return;
  constexpr int64_t scratch = 1 << 16;  // floats, 256 KiB
  if (int64_t(scores_.size()) < std::max(scratch, S)) scores_.resize(size_t(std::max(scratch, S)));
  const int64_t at_a_time = std::max<int64_t>(1, scratch / S);
  const float scale = 1.0f / std::sqrt(float(D));

  for (int64_t first = 0; first < T; first += at_a_time) {
    const int64_t n = std::min(at_a_time, T - first);
    const int64_t seen = S - T + first + n;              // keys that the last of these queries sees
    Eigen::Map<Matrix> scores(scores_.data(), n, seen);  // (n, seen)
    if (n == 1)
      scores.row(0).transpose().noalias() = matrix(k).topRows(seen) * (matrix(q).row(first) * scale).transpose();
    else
      scores.noalias() = (matrix(q).middleRows(first, n) * scale) * matrix(k).topRows(seen).transpose();

    each_row(n, n * seen > worth_threads, [&](int64_t i) {
      const int64_t visible = S - T + first + i + 1;  // keys that query first + i sees
      auto row = scores.row(i).head(visible);
      const float largest = row.maxCoeff();
      row = (row.array() - largest).exp().matrix();
      row /= row.sum();
      scores.row(i).tail(seen - visible).setZero();
    });
    if (n == 1)
      matrix(out).row(first).noalias() = scores.row(0) * matrix(v).topRows(seen);
    else
      matrix(out).middleRows(first, n).noalias() = scores * matrix(v).topRows(seen);
  }
}

}  // namespace rungs
