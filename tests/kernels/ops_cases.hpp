/// What the tests of operations and those of a layer's steps share: rows as a model brings them, and tolerances.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "devices.hpp"
#include "ops/expected.hpp"
#include "product.hpp"
#include "rungs/model/rows.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/processor.hpp"

namespace rungs::test {

/// While it lives, nothing is rounded to bf16 beside bf16 weights.
struct ExactProducts {
  ExactProducts() { use_exact_products(); }
  ~ExactProducts() { use_exact_products(false); }
};

/// linear_in_double, and what tensor cores add to the tolerance where CudaOps multiplies on them: more than 8 rows of
/// x, and long rows of a weight in bf16. There x is rounded to bf16, or with exact products in two parts.
inline Expected linear_on_device(CudaDevice& ops, const Tensor& x_given, const Tensor& weight, const Tensor& bias) {
  const auto N = int(x_given.rows()), K = int(weight.rows()), C = int(x_given.cols());
  const bool optimized = dynamic_cast<CudaOps*>(&ops), exact = exact_products();
  if (!optimized || weight.dtype() != DType::bf16 || C < (exact ? 1024 : 768) || N <= 8)
    return linear_in_double(x_given, weight, bias);
  const Tensor x = exact ? x_given.copy() : in_16_bits(x_given, DType::bf16);
  Expected e = linear_in_double(x, weight, bias);
  const Product plain = product(values(x), values(weight), N, K, C), cut = on_tensor_cores(plain, exact ? 2 * C : C);
  for (size_t i = 0; i < e.tolerance.size(); ++i) e.tolerance[i] += cut.tolerance[i] - plain.tolerance[i];
  return e;
}

/// How far two implementations of attention may be from each other where no element of q, k and v is above 1: both are
/// off by what attend_in_double allows.
inline double attention_tolerance(double D, double S) {
  const double score_error = sum_error(D, 1) + 3 * u * std::sqrt(D), spread = 2 * std::sqrt(D);
  return 2 * (2 * (score_error + exp_error(spread)) + (8 * std::sqrt(S) + 4) * u + sum_error(S, 1));
}

/// Rows on a device as a model brings them there.
struct Placed {
  Config config;
  KvCache cache;
  RowsOnDevice room;
  Placed(Device& ops, int64_t G, int64_t D, int64_t sequences, int64_t capacity, int64_t rows = 64) : room(ops, rows) {
    config.model_type = "llama";
    config.max_seq_len = std::max<int64_t>(64, capacity), config.num_kv_heads = G, config.head_dim = D,
    config.num_layers = 1, config.vocab_size = 9;
    cache = KvCache(ops, config, sequences, capacity);
    Tensor dirt = random_tensor(cache.layers[0].k.shape(), 77);
    ops.upload(cache.layers[0].k, dirt.raw());
    ops.upload(cache.layers[0].v, dirt.raw());
  }
};

/// One row each, a prompt after a past, several of both, and a sequence that comes twice.
inline std::vector<Batch> batches() {
  const auto of = [](const std::vector<std::pair<int32_t, std::pair<int64_t, int64_t>>>& runs) {
    Batch batch;
    for (const auto& [sequence, run] : runs)
      batch.add(sequence, std::vector<int32_t>(size_t(run.second), 1), run.first, false);
    return batch;
  };
  return {of({{0, {11, 1}}}), of({{2, {5, 1}}, {0, {0, 1}}, {1, {19, 1}}}), of({{2, {3, 6}}}),
          of({{1, {0, 12}}, {0, {7, 1}}, {2, {2, 3}}}), of({{1, {6, 1}}, {1, {8, 1}}, {0, {4, 1}}})};
}

}  // namespace rungs::test
