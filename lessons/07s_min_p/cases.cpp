#include "pieces.hpp"

namespace lesson_07s {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "keep_min_p") {
    Tensor p = in["p"].copy();  // (V)
    pieces.keep_min_p(p, in.scalar("share"));
    rec.output("p", p);
  } else {
    Tensor out(in["logits"].shape());  // (V)
    pieces.probabilities(out, in["logits"], in.scalar("temperature"), in.scalar("share"));
    rec.output("probabilities", out);
  }
}

}  // namespace lesson_07s
