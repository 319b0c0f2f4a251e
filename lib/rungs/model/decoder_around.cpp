#include "rungs/model/decoder_around.hpp"

#include "rungs/tensor/tap.hpp"

namespace rungs {

void decoder_around(AttentionFunction* attention, Ops& ops, Tensor& logits, const Tensor& tokens,
                    const DecoderWeights& w) {
  const int64_t T = tokens.count(), C = w.token_embedding.cols();
  Tensor x({T, C}), normed({T, C}), branch({T, C});  // (T, C)
  const auto norm = [&](const char* name, const NormWeights& n) {
    ops.layer_norm(normed, x, n.weight, n.bias, w.epsilon);
    tap(name, normed);
  };
  ops.embedding(x, w.token_embedding, tokens);
  ops.add(x, w.position_embedding.view_rows(0, T));
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LayerWeights& layer = w.layers[i];
    norm("attention_normed", layer.attention_norm);
    attention(ops, branch, normed, layer.attention);
    tap("attention", branch);
    ops.add(x, branch);  // residual

    norm("normed", layer.ffn_norm);
    Tensor hidden({T, layer.up.weight.rows()});  // (T, F)
    ops.linear(hidden, normed, layer.up.weight, layer.up.bias);
    tap("up", hidden);
    ops.relu(hidden);
    tap("hidden", hidden);
    ops.linear(branch, hidden, layer.down.weight, layer.down.bias);
    ops.add(x, branch);  // residual
    tap("x", x);
  }

  norm("normed", w.final_norm);
  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
}

}  // namespace rungs
