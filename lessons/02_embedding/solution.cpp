#include "lesson.hpp"
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

}  // namespace lesson_02
