#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"
#include "rungs/model/decoder_around.hpp"

namespace lesson_05 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  CountingOps ops(rec);
  if (in.run == "softmax") {
    Tensor x = in["x"].copy();  // (T, S)
    pieces.softmax(x);
    rec.output("x", x);
  } else if (in.run == "sdpa") {
    Tensor out(in["q"].shape());  // (T, D)
    pieces.sdpa(out, in["q"], in["k"], in["v"]);
    rec.output("out", out);
  } else if (in.run == "attention") {
    Tensor out(in["x"].shape());  // (T, C)
    pieces.attention(ops, out, in["x"], attention_of(in));
    rec.output("out", out);
  } else {  // the attention in a whole model
    const auto forward = [&](Ops& with, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
      decoder_around(pieces.attention, with, logits, tokens, w);
    };
    run_decoder_forward(in, forward, rec);
  }
}

}  // namespace lesson_05
