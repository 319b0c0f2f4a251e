#include "grade/case_model.hpp"
#include "pieces.hpp"

namespace lesson_03 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "layer_norm") {
    Tensor out(in["x"].shape());  // (T, C)
    pieces.layer_norm(out, in["x"], in["weight"], in["bias"], float(in.scalar("epsilon")));
    rec.output("out", out);
  } else {
    const DecoderCheckpoint& model = model_of(in);
    CountingOps ops(rec);
    Tensor logits({in["tokens"].count(), model.config.vocabulary});  // (T, V)
    pieces.decoder_forward(ops, logits, in["tokens"], model.weights);
    rec.output("logits", logits);
  }
}

}  // namespace lesson_03
