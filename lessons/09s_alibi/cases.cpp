#include "pieces.hpp"

namespace lesson_09s {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "alibi_slopes") {
    Tensor out({int64_t(in.scalar("heads"))});  // (H)
    pieces.alibi_slopes(out);
    rec.output("slopes", out);
  } else {
    Tensor out(in["q"].shape());  // (T, H, D)
    pieces.sdpa(out, in["q"], in["k"], in["v"], in["slopes"]);
    rec.output("out", out);
  }
}

}  // namespace lesson_09s
