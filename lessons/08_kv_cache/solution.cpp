#include <cmath>
#include <limits>

#include "02_embedding/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "05_attention/lesson.hpp"
#include "07_generate/lesson.hpp"
#include "lesson.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_08 {

using lesson_05::softmax;

void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t T = q.dim(0), D = q.dim(1), S = k.dim(0);

  Tensor scores({T, S});  // (T, S): query t, key s
  matmul_transposed(scores, q, k);
  for (int64_t i = 0; i < T * S; ++i) scores.flat(i) /= std::sqrt(float(D));
  tap("scores", scores);

  Tensor weights = scores.copy();  // (T, S): each row will sum to one
  // >>> in `weights`, hide from query t every key that stands after position S - T + t; then softmax each row
  for (int64_t t = 0; t < T; ++t)
    for (int64_t s = S - T + t + 1; s < S; ++s) weights(t, s) = -std::numeric_limits<float>::infinity();
  softmax(weights);
  // <<<
  tap("weights", weights);

  matmul(out, weights, v);
}

void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, LayerCache& cache,
               int64_t start_pos) {
  const int64_t T = x.dim(0), D = w.q.weight.dim(0);
  Tensor q({T, D});  // (T, D)
  ops.linear(q, x, w.q.weight, w.q.bias);
  tap("q", q);

  // >>> project x to the keys and values of these tokens, straight into their rows of the cache (view_rows)
  Tensor new_k = cache.k.view_rows(start_pos, T);  // (T, D)
  Tensor new_v = cache.v.view_rows(start_pos, T);  // (T, D)
  ops.linear(new_k, x, w.k.weight, w.k.bias);
  ops.linear(new_v, x, w.v.weight, w.v.bias);
  // <<<
  tap("k", cache.k.view_rows(start_pos, T)), tap("v", cache.v.view_rows(start_pos, T));

  Tensor k, v;  // (S, D): of every token so far
  // >>> k and v = views of all rows of the cache that are filled by now
  const int64_t S = start_pos + T;
  k = cache.k.view_rows(0, S);
  v = cache.v.view_rows(0, S);
  // <<<

  Tensor attn_out({T, D});  // (T, D): what each token has read
  sdpa(attn_out, q, k, v);
  tap("attn_out", attn_out);
  ops.linear(out, attn_out, w.o.weight, w.o.bias);
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C}), normed({T, C}), attended({T, C});  // (T, C)

  // >>> lesson_02::embed the tokens, the first at position start_pos: give it the position embeddings from there on
  lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding.view_rows(start_pos, T));
  // <<<
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LayerWeights& layer = w.layers[i];
    ops.layer_norm(normed, x, layer.attention_norm.weight, layer.attention_norm.bias, w.epsilon);
    tap("attention_normed", normed);
    attention(ops, attended, normed, layer.attention, cache.layers[i], start_pos);
    tap("attention", attended);
    ops.add(x, attended);
    lesson_04::feed_forward(ops, x, layer, w.epsilon);
    tap("x", x);
  }

  ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
}

/// Room for the keys and values of one sequence of up to `capacity` tokens.
static KvCache empty_cache(const DecoderWeights& w, int64_t capacity) {
  KvCache cache;
  for (const LayerWeights& layer : w.layers) {
    const int64_t D = layer.attention.k.weight.dim(0);
    cache.layers.push_back({Tensor({capacity, D}), Tensor({capacity, D})});
  }
  return cache;
}

std::vector<int32_t> generate(Ops& ops, const DecoderWeights& w, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options, const std::function<double()>& draw) {
  const int64_t V = w.output.weight.dim(0);
  KvCache cache = empty_cache(w, int64_t(prompt.size()) + options.max_tokens);
  std::vector<int32_t> feed = prompt, made;  // `feed`: the tokens that the cache has not seen
  int64_t start_pos = 0;                     // the position of the first of them

  while (int64_t(made.size()) < options.max_tokens) {
    const int64_t T = int64_t(feed.size());
    const Tensor tokens = Tensor::view_of(feed.data(), {T}, DType::i32);  // (T)
    Tensor logits({T, V});                                                // (T, V)

    // >>> logits of the tokens to feed, at start_pos; then move start_pos past them
    decoder_forward(ops, logits, tokens, w, cache, start_pos);
    start_pos += T;
    // <<<
    const Tensor next = logits.view_rows(T - 1, 1);  // (1, V)
    tap("logits", next);

    Tensor p({V});  // (V)
    lesson_07::probabilities(p, next[0], options.sampling);
    made.push_back(lesson_07::sample(p, draw()));
    // >>> the next step feeds the token just made, and nothing else
    feed = {made.back()};
    // <<<
    if (options.ends(made.back())) break;
  }
  return made;
}

}  // namespace lesson_08
