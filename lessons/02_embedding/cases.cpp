#include "grade/case_model.hpp"
#include "pieces.hpp"

namespace lesson_02 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const int64_t T = in["tokens"].count();
  if (in.run == "embed") {
    Tensor x({T, in["token_embedding"].dim(1)});  // (T, C)
    pieces.embed(x, in["tokens"], in["token_embedding"], in["position_embedding"]);
    rec.output("x", x);
  } else {
    const DecoderCheckpoint& model = model_of(in);
    CountingOps ops(rec);
    Tensor logits({T, model.config.vocabulary});  // (T, V)
    pieces.decoder_forward(ops, logits, in["tokens"], model.weights);
    rec.output("logits", logits);
  }
}

}  // namespace lesson_02
