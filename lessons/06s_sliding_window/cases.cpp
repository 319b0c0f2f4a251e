#include "pieces.hpp"

namespace lesson_06s {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "sdpa") {
    Tensor out(in["q"].shape());  // (T, D)
    pieces.sdpa(out, in["q"], in["k"], in["v"], int64_t(in.scalar("window")));
    rec.output("out", out);
  } else {
    const Tensor &layers = in["layers"], &windows = in["windows"], &lengths = in["lengths"];  // (N)
    Tensor tokens(layers.shape(), DType::i32);
    for (int64_t i = 0; i < layers.count(); ++i)
      tokens.at<int32_t>(i) =
          int32_t(pieces.receptive_field(layers.at<int32_t>(i), windows.at<int32_t>(i), lengths.at<int32_t>(i)));
    rec.output("tokens", tokens);
  }
}

}  // namespace lesson_06s
