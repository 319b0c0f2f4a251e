#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_02 {

static std::string text_of(const Tensor& bytes) {
  return {bytes.data<int32_t>(), bytes.data<int32_t>() + bytes.count()};
}

/// The texts that `joined` holds one after the other.
static std::vector<std::string> texts_of(const std::string& joined, const Tensor& lengths) {
  std::vector<std::string> texts;
  size_t at = 0;
  for (int64_t i = 0; i < lengths.count(); ++i) {
    texts.push_back(joined.substr(at, size_t(lengths.at<int32_t>(i))));
    at += texts.back().size();
  }
  return texts;
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "embed") {
    Tensor x({in["tokens"].count(), in["token_embedding"].dim(1)});  // (T, C)
    pieces.embed(x, in["tokens"], in["token_embedding"], in["position_embedding"]);
    rec.output("x", x);
  } else if (in.run == "encode") {
    const std::vector<std::string> tokens = texts_of(text_of(in["vocabulary"]), in["lengths"]);
    const std::vector<int32_t> ids = pieces.encode(tokens, text_of(in["text"]));
    rec.output("ids", Tensor::view_of(ids.data(), {int64_t(ids.size())}, DType::i32));
  } else {
    run_decoder_forward(in, pieces.decoder_forward, rec);
  }
}

}  // namespace lesson_02
