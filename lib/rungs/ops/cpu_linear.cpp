#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/cpu_parts.hpp"
#include "rungs/ops/cpu_workspace.hpp"
#include "rungs/ops/dot.hpp"
#include "rungs/ops/matrix.hpp"
#include "rungs/ops/packed_product.hpp"
#include "rungs/ops/tile_product.hpp"

namespace rungs {

static ProductWay product_way(const Tensor& x, const Tensor& weight) {
  return product_way(x.rows(), weight.cols(), weight.dtype());
}

/// x as some_columns() reads it beside this weight, until the next call; in tiles with rows of zeros to fill the last.
ConstTensor CpuOps::arranged(ProductWay way, const Tensor& x, const Tensor& weight) {
  const int64_t N = x.rows(), floats = floats_of_arranged(way, N, x.cols(), weight.dtype());
  if (floats == 0) return x.view();
  need(arranged_, floats);
  const int64_t all = way == ProductWay::tiles ? in_whole_tiles(N) : N;
  Tensor rows = arranged_.view_rows(0, floats).reshaped({all, floats / all});
  const bool threads = x.count() > worth_threads;
  if (way == ProductWay::tiles)
    in_parts(all, tile_rows, threads,
             [&](int64_t first, int64_t last) { pack_tiles(rows, x, weight.dtype(), first, last); });
  else if (way == ProductWay::few_rows)
    in_parts(N, 1, threads, [&](int64_t first, int64_t last) { arrange(rows, x, weight.dtype(), first, last); });
  else
    in_parts(packed_tiles(N), 1, threads,
             [&](int64_t first, int64_t last) { pack_rows(rows, x, weight.dtype(), first, last); });
  return rows.view();
}

/// Columns [first, last) of out = x · weightᵀ, on the calling thread.  x: arranged
static void some_columns(ProductWay way, Tensor& out, const Tensor& x, const Tensor& weight, int64_t first,
                         int64_t last) {
  switch (way) {
    case ProductWay::tiles:
      return tile_product(out, x, weight, first, last);
    case ProductWay::few_rows:
      return small_batch_product(out, x, weight, first, last);
    case ProductWay::packed:
      return packed_product(out, x, weight, first, last);
  }
}

/// work(first, last) for parts of K columns, which begin where what is computed at a time ends.
template <class Work>
static void columns_in_parts(ProductWay way, int64_t K, bool threads, const Work& work) {
  switch (way) {
    case ProductWay::tiles:
      return in_parts(K, 2 * tile_rows, threads, work);
    case ProductWay::few_rows:
      return in_parts(K, 4, threads, work);
    case ProductWay::packed:
      return in_parts(K, packed_columns(), threads, work, packed_columns());
  }
}

void CpuOps::linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_linear(Place::host, out, x, weight, bias);
  const ProductWay way = product_way(x, weight);
  const ConstTensor in = arranged(way, x, weight);  // (N, C)
  const bool threads = worth_threads_in_linear(x.rows(), weight.bytes());
  columns_in_parts(way, weight.rows(), threads,
                   [&](int64_t first, int64_t last) { some_columns(way, out, in, weight, first, last); });
  for (int64_t n = 0; bias && n < x.rows(); ++n) matrix(out).row(n) += row_vector(bias);
}

/// Whether x is arranged for one weight as for the other.
static bool arranged_alike(const Tensor& x, const Tensor& a, const Tensor& b) {
  const bool quantized = is_quantized(a.dtype()) && is_quantized(b.dtype());
  return a.dtype() == b.dtype() || (quantized && product_way(x, a) == product_way(x, b));
}

// Three products as one: their rows are shared out among the threads together.
void CpuOps::norm_qkv(const Qkv& out, Tensor& normed, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                      const RopeTables& rope, const Rows& rows) {
  if (!arranged_alike(x, w.q, w.k) || !arranged_alike(x, w.q, w.v))
    return Steps::norm_qkv(out, normed, x, norm, w, rope, rows);
  Tensor outs[] = {flat_heads(out.q), flat_heads(out.k), flat_heads(out.v)};
  const ConstTensor* weights[] = {&w.q, &w.k, &w.v};
  for (int i = 0; i < 3; ++i)
    require(Place::host,
            weights[i]->cols() == x.cols() && weights[i]->rows() == outs[i].cols() && outs[i].rows() == x.rows(),
            "norm_qkv(out, x, weight)", outs[i], x, *weights[i]);
  rms_norm(normed, x, norm.weight, norm.epsilon);
  const ProductWay way = product_way(normed, w.q);
  const ConstTensor in = arranged(way, normed, w.q);  // (N, C)
  const size_t bytes = w.q.bytes() + w.k.bytes() + w.v.bytes();
  const bool threads = worth_threads_in_linear(x.rows(), bytes);
  columns_in_parts(way, w.q.rows() + w.k.rows() + w.v.rows(), threads, [&](int64_t first, int64_t last) {
    int64_t before = 0;  // rows of the weights that come earlier
    for (int i = 0; i < 3; before += weights[i++]->rows()) {
      const int64_t a = std::max(first - before, int64_t(0)), b = std::min(last - before, weights[i]->rows());
      if (a < b) some_columns(way, outs[i], in, *weights[i], a, b);
    }
  });
  apply_rope(out.q, rope, rows.position);
  apply_rope(out.k, rope, rows.position);
}

// Each thread computes its columns of gate and of up, and gates them while they are near.
void CpuOps::norm_swiglu(Tensor& out, Tensor& up, Tensor& normed, const Tensor& x, const NormRef& norm,
                         const GateUpWeights& w) {
  if (!arranged_alike(x, w.gate, w.up)) return Steps::norm_swiglu(out, up, normed, x, norm, w);
  require_swiglu(Place::host, out, up, x, w.gate, w.up);
  rms_norm(normed, x, norm.weight, norm.epsilon);
  const ProductWay way = product_way(normed, w.gate);
  const ConstTensor in = arranged(way, normed, w.gate);  // (N, C)
  const bool threads = worth_threads_in_linear(x.rows(), w.gate.bytes() + w.up.bytes());
  columns_in_parts(way, w.gate.rows(), threads, [&](int64_t first, int64_t last) {
    some_columns(way, out, in, w.gate, first, last);
    some_columns(way, up, in, w.up, first, last);
    auto gate = matrix(out).middleCols(first, last - first).array();
    gate = gate / (1.0f + (-gate).exp()) * matrix(up).middleCols(first, last - first).array();
  });
}

}  // namespace rungs
