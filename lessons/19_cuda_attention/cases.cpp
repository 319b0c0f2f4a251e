#include <algorithm>
#include <cmath>

#include "kernels/device_memory.hpp"
#include "pieces.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_19 {

/// log Σ exp(score) of each head, from what the splits found: a key that counts twice is seen here, not in the output.
/// partial: (N · H, splits, 2 + D)
static Tensor log_sum_exp(const Tensor& partial) {
  Tensor lse({partial.dim(0)});  // (N · H)
  for (int64_t h = 0; h < partial.dim(0); ++h) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < partial.dim(1); ++i) largest = std::max(largest, double(partial(h, i, 0)));
    for (int64_t i = 0; i < partial.dim(1); ++i) sum += std::exp(partial(h, i, 0) - largest) * partial(h, i, 1);
    lse(h) = float(largest + std::log(sum));
  }
  return lse;
}

static Tensor one_number(int32_t number) { return Tensor::view_of(&number, {1}, DType::i32).copy(); }

/// Queries of several sequences over their cache; or one, whose k and v are the whole cache.
static void run_split(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const bool batch = in.in.count("sequence") > 0;
  const Tensor q = to_device(in["q"]), k = to_device(in["k"]), v = to_device(in["v"]);  // (N, H, D); (B, S, G, D) twice
  const int N = int(q.dim(0)), H = int(q.dim(1)), D = int(q.dim(2)), G = int(k.dim(batch ? 2 : 1));
  const int capacity = int(k.dim(batch ? 1 : 0)), splits = int(in.scalar("splits"));
  const Tensor sequence = to_device(batch ? in["sequence"].copy() : one_number(0));
  const Tensor position = to_device(batch ? in["position"].copy() : one_number(capacity - 1));
  Tensor out = to_device(Tensor({N, H, D})), partial = to_device(Tensor({N * H, splits, 2 + D}));
  pieces.attention_split(out.data(), partial.data(), q.data(), k.data(), v.data(), sequence.data<int32_t>(),
                         position.data<int32_t>(), {N, capacity, H, G, D}, splits, nullptr);
  rec.output("out", to_host(out));
  rec.output("lse", log_sum_exp(to_host(partial)));
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "attention_split") return run_split(in, pieces, rec);
  const Tensor q = to_device(in["q"]), k = to_device(in["k"]), v = to_device(in["v"]);  // (T, H, D), (S, G, D) twice
  const AttentionShape n{int(q.dim(0)), int(k.dim(0)), int(q.dim(1)), int(k.dim(1)), int(q.dim(2))};
  Tensor out = to_device(Tensor({n.T, n.H, n.D}));  // as fresh memory is
  if (in.run == "attention_naive") {
    Tensor scores = to_device(Tensor({n.H, n.T, n.S}));
    pieces.attention_naive(out.data(), scores.data(), q.data(), k.data(), v.data(), n, nullptr);
    tap("weights", to_host(scores));
  } else if (in.run == "attention_online") {
    pieces.attention_online(out.data(), q.data(), k.data(), v.data(), n, nullptr);
  } else if (in.run == "attention_flash2") {
    pieces.attention_flash2(out.data(), q.data(), k.data(), v.data(), n, nullptr);
  } else {
    pieces.attention_tiled(out.data(), q.data(), k.data(), v.data(), n, nullptr);
  }
  rec.output("out", to_host(out));
}

}  // namespace lesson_19
