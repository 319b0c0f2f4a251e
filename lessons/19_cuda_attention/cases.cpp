#include "kernels/device_memory.hpp"
#include "pieces.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_19 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const Tensor q = to_device(in["q"]), k = to_device(in["k"]), v = to_device(in["v"]);  // (T, H, D), (S, G, D) twice
  const AttentionShape n{int(q.dim(0)), int(k.dim(0)), int(q.dim(1)), int(k.dim(1)), int(q.dim(2))};
  Tensor out = to_device(Tensor({n.T, n.H, n.D}));  // as fresh memory is
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
  }
  rec.output("out", to_host(out));
}

}  // namespace lesson_19
