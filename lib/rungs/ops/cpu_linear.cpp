#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/cpu_parts.hpp"
#include "rungs/ops/dot.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/ops/matrix.hpp"
#include "rungs/ops/upcast.hpp"

namespace rungs {

/// Says how many threads Eigen may take for its next product; by itself it takes them all for next to nothing.
static void plan_product(int64_t rows, int64_t inner, int64_t columns) {
  const bool threads = worth_threads_in_product(rows, inner, columns);
  Eigen::setNbThreads(threads ? 0 : 1);  // 0: as many as OpenMP has
}

void matmul(Tensor& out, const Tensor& a, const Tensor& b) {
  require(Place::host, a.cols() == b.rows() && out.rows() == a.rows() && out.cols() == b.cols(), "matmul(out, a, b)",
          out, a, b);
  plan_product(a.rows(), a.cols(), b.cols());
  matrix(out).noalias() = matrix(a) * matrix(b);
}

void matmul_transposed(Tensor& out, const Tensor& a, const Tensor& b) {
  require(Place::host, a.cols() == b.cols() && out.rows() == a.rows() && out.cols() == b.rows(),
          "matmul_transposed(out, a, b)", out, a, b);
  plan_product(a.rows(), a.cols(), b.rows());
  matrix(out).noalias() = matrix(a) * matrix(b).transpose();
}

/// x as small_batch_product() reads it beside this weight, until the next call.
ConstTensor CpuOps::arranged(const Tensor& x, const Tensor& weight) {
  const int64_t floats = arranged_floats(x.cols(), weight.dtype());
  if (floats == 0) return x.view();
  need(arranged_, x.rows() * floats);
  Tensor rows = arranged_.view_rows(0, x.rows() * floats).reshaped({x.rows(), floats});
  in_parts(x.rows(), 1, x.count() > worth_threads,
           [&](int64_t first, int64_t last) { arrange(rows, x, weight.dtype(), first, last); });
  return rows.view();
}

void CpuOps::linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_linear(Place::host, out, x, weight, bias);
  if (x.rows() <= small_batch_rows(weight.dtype())) {
    const ConstTensor in = arranged(x, weight);  // (N, C)
    in_parts(weight.rows(), 4, worth_threads_in_small_batch(x.rows(), weight.bytes()),
             [&](int64_t first, int64_t last) { small_batch_product(out, in, weight, first, last); });
  } else if (weight.dtype() == DType::f32) {
    plan_product(x.rows(), x.cols(), weight.rows());
    matrix(out).noalias() = matrix(x) * matrix(weight).transpose();
  } else {  // some rows of the weight at a time, upcast
    const int64_t C = weight.cols(), at_a_time = upcast_rows(C);
    need(upcast_, at_a_time * C);
    for (int64_t first = 0; first < weight.rows(); first += at_a_time) {
      const int64_t n = std::min(at_a_time, weight.rows() - first);
      in_parts(n, 1, size_t(n * C) > bytes_worth_threads,
               [&](int64_t a, int64_t b) { upcast(upcast_.data() + a * C, weight, (first + a) * C, (b - a) * C); });
      plan_product(x.rows(), C, n);
      const Eigen::Map<const Matrix> some(upcast_.data(), n, C);
      matrix(out).middleCols(first, n).noalias() = matrix(x) * some.transpose();
    }
  }
  if (bias) matrix(out).rowwise() += row_vector(bias);
}

// Three products as one: their rows are shared out among the threads together.
void CpuOps::norm_qkv(const Qkv& out, Tensor& normed, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                      const RopeTables& rope, const Rows& rows) {
  const bool one_dtype = w.k.dtype() == w.q.dtype() && w.v.dtype() == w.q.dtype();  // so x is arranged once
  if (!one_dtype || x.rows() > small_batch_rows(w.q.dtype()))
    return Steps::norm_qkv(out, normed, x, norm, w, rope, rows);
  Tensor outs[] = {flat_heads(out.q), flat_heads(out.k), flat_heads(out.v)};
  const ConstTensor* weights[] = {&w.q, &w.k, &w.v};
  for (int i = 0; i < 3; ++i)
    require(Place::host,
            weights[i]->cols() == x.cols() && weights[i]->rows() == outs[i].cols() && outs[i].rows() == x.rows(),
            "norm_qkv(out, x, weight)", outs[i], x, *weights[i]);
  rms_norm(normed, x, norm.weight, norm.epsilon);
  const ConstTensor in = arranged(normed, w.q);  // (N, C)
  const size_t bytes = w.q.bytes() + w.k.bytes() + w.v.bytes();
  const bool threads = worth_threads_in_small_batch(x.rows(), bytes);
  in_parts(w.q.rows() + w.k.rows() + w.v.rows(), 4, threads, [&](int64_t first, int64_t last) {
    int64_t before = 0;  // rows of the weights that come earlier
    for (int i = 0; i < 3; before += weights[i++]->rows()) {
      const int64_t a = std::max(first - before, int64_t(0)), b = std::min(last - before, weights[i]->rows());
      if (a < b) small_batch_product(outs[i], in, *weights[i], a, b);
    }
  });
  apply_rope(out.q, rope, rows.position);
  apply_rope(out.k, rope, rows.position);
}

// Each thread computes its columns of gate and of up, and gates them while they are near.
void CpuOps::norm_swiglu(Tensor& out, Tensor& up, Tensor& normed, const Tensor& x, const NormRef& norm,
                         const GateUpWeights& w) {
  if (w.gate.dtype() != w.up.dtype() || x.rows() > small_batch_rows(w.gate.dtype()))
    return Steps::norm_swiglu(out, up, normed, x, norm, w);
  require_swiglu(Place::host, out, up, x, w.gate, w.up);
  rms_norm(normed, x, norm.weight, norm.epsilon);
  const ConstTensor in = arranged(normed, w.gate);  // (N, C)
  const bool threads = worth_threads_in_small_batch(x.rows(), w.gate.bytes());
  in_parts(w.gate.rows(), 8, threads, [&](int64_t first, int64_t last) {
    small_batch_product(out, in, w.gate, first, last);
    small_batch_product(up, in, w.up, first, last);
    auto gate = matrix(out).middleCols(first, last - first).array();
    gate = gate / (1.0f + (-gate).exp()) * matrix(up).middleCols(first, last - first).array();
  });
}

}  // namespace rungs
