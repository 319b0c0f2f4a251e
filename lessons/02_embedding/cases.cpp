#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_02 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "embed") {
    Tensor x({in["tokens"].count(), in["token_embedding"].dim(1)});  // (T, C)
    pieces.embed(x, in["tokens"], in["token_embedding"], in["position_embedding"]);
    rec.output("x", x);
  } else {
    run_decoder_forward(in, pieces.decoder_forward, rec);
  }
}

}  // namespace lesson_02
