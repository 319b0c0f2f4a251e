#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_07 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "probabilities") {
    Tensor out(in["logits"].shape());  // (V)
    pieces.probabilities(out, in["logits"], sample_options_of(in));
    rec.output("probabilities", out);
  } else if (in.run == "sample") {
    const Tensor& draws = in["draws"];
    Tensor tokens(draws.shape(), DType::i32);
    for (int64_t i = 0; i < draws.count(); ++i)
      tokens.at<int32_t>(i) = pieces.sample(in["probabilities"], draws.value(i));
    rec.output("tokens", tokens);
  } else {
    run_generate(in, pieces.generate, rec);
  }
}

}  // namespace lesson_07
