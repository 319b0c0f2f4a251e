#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_08b {

/// One number, as a tensor.
static Tensor number(double value) {
  Tensor out({1});
  out(0) = float(value);
  return out;
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  CountingOps ops(rec);
  if (in.run == "log_softmax") {
    Tensor out(in["logits"].shape());  // (T, V)
    pieces.log_softmax(out, in["logits"]);
    rec.output("out", out);
  } else if (in.run == "loss") {
    rec.output("loss", number(pieces.loss(in["logits"], in["tokens"], int32_t(in.scalar("end")))));
  } else if (in.run == "perplexity") {
    rec.output("perplexity", number(pieces.perplexity(in.scalar("loss"))));
  } else if (in.run == "gradient") {
    Tensor out(in["logits"].shape());  // (T, V)
    pieces.gradient(out, in["logits"], in["tokens"], int32_t(in.scalar("end")));
    rec.output("out", out);
  } else {
    Tensor weight = in["weight"].copy(), bias = in["bias"].copy();  // (V, C), (V)
    double before = 0;
    for (int64_t i = 0; i < int64_t(in.scalar("steps")); ++i)
      before = pieces.train_step(ops, weight, bias, in["x"], in["tokens"], int32_t(in.scalar("end")),
                                 float(in.scalar("rate")));
    rec.output("loss", number(before));
    rec.output("weight", weight);
    rec.output("bias", bias);
  }
}

}  // namespace lesson_08b
