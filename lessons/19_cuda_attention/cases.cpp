#include <algorithm>
#include <cmath>

#include "kernels/device_memory.hpp"
#include "pieces.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_19 {

/// log Σ exp(score) of each head, from what the splits found: a key that counts twice is seen here, not in the output.
/// partial: (H, splits, 2 + D)
static Tensor log_sum_exp(const Tensor& partial) {
  Tensor lse({partial.dim(0)});  // (H)
  for (int64_t h = 0; h < partial.dim(0); ++h) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < partial.dim(1); ++i) largest = std::max(largest, double(partial(h, i, 0)));
    for (int64_t i = 0; i < partial.dim(1); ++i) sum += std::exp(partial(h, i, 0) - largest) * partial(h, i, 1);
    lse(h) = float(largest + std::log(sum));
  }
  return lse;
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const Tensor q = to_device(in["q"]), k = to_device(in["k"]), v = to_device(in["v"]);  // (T, H, D), (S, G, D) twice
  const AttentionShape n{int(q.dim(0)), int(k.dim(0)), int(q.dim(1)), int(k.dim(1)), int(q.dim(2))};
  Tensor out = to_device(Tensor({n.T, n.H, n.D}));  // as fresh memory is
  Tensor lse;
  if (in.run == "attention_naive") {
    Tensor scores = to_device(Tensor({n.H, n.T, n.S}));
    pieces.attention_naive(out.data(), scores.data(), q.data(), k.data(), v.data(), n, nullptr);
    tap("weights", to_host(scores));
  } else if (in.run == "attention_online") {
    pieces.attention_online(out.data(), q.data(), k.data(), v.data(), n, nullptr);
  } else if (in.run == "attention_tiled") {
    pieces.attention_tiled(out.data(), q.data(), k.data(), v.data(), n, nullptr);
  } else {
    const int splits = int(in.scalar("splits"));
    Tensor partial = to_device(Tensor({n.H, splits, 2 + n.D}));
    pieces.attention_split(out.data(), partial.data(), q.data(), k.data(), v.data(), n, splits, nullptr);
    lse = log_sum_exp(to_host(partial));
  }
  rec.output("out", to_host(out));
  if (lse) rec.output("lse", lse);
}

}  // namespace lesson_19
