#include "lesson.hpp"
#include "rungs/base/error.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_02 {

void embed(Tensor& x, const Tensor& tokens, const Tensor& token_embedding, const Tensor& position_embedding) {
  const int64_t T = tokens.count(), C = token_embedding.dim(1);

  for (int64_t t = 0; t < T; ++t) {
    const int64_t token = tokens.at<int32_t>(t);
    // >>> row t of x = row `token` of token_embedding + row t of position_embedding
    for (int64_t c = 0; c < C; ++c) x(t, c) = token_embedding(token, c) + position_embedding(t, c);
    // <<<
  }
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C});  // (T, C): one vector for each token, which the layers of later lessons will change

  // >>> embed the tokens into x
  embed(x, tokens, w.token_embedding, w.position_embedding);
  // <<<
  tap("x", x);

  // >>> logits = x · Wᵀ + b with w.output, through ops.linear
  ops.linear(logits, x, w.output.weight, w.output.bias);
  // <<<
}

/// Shows the bytes of a text to the grader.
static void tap_text(const char* name, const std::string& text) {
  const std::vector<int32_t> bytes(text.begin(), text.end());
  tap(name, Tensor::view_of(bytes.data(), {int64_t(bytes.size())}, DType::i32));
}

std::vector<int32_t> encode(const std::vector<std::string>& tokens, std::string_view text) {
  std::vector<int32_t> ids;
  std::string whole(text);
  // >>> put a space in front of `whole`, unless it begins with a space or a newline
  if (!whole.starts_with(' ') && !whole.starts_with('\n')) whole = " " + whole;
  // <<<
  tap_text("whole", whole);

  size_t at = 0;  // what stands before it is cut
  while (at < whole.size()) {
    const std::string_view rest = std::string_view(whole).substr(at);
    size_t best = 0, length = 0;  // a token's id and how long its text is
    // >>> of the tokens from id 2 on that `rest` begins with, the longest: best, length; throw UsageError if none is
    for (size_t id = 2; id < tokens.size(); ++id)
      if (rest.starts_with(tokens[id]) && tokens[id].size() > length) best = id, length = tokens[id].size();
    if (length == 0) throw UsageError("no token for the character '" + std::string(1, rest[0]) + "'");
    // <<<

    // >>> append `best` to ids; `at` moves behind that token
    ids.push_back(int32_t(best));
    at += length;
    // <<<
  }
  return ids;
}

}  // namespace lesson_02
