#include <cmath>
#include <limits>

#include "02_embedding/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "05_attention/lesson.hpp"
#include "09_multi_head/lesson.hpp"
#include "lesson.hpp"
#include "rungs/ops/matmul.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_10 {

using lesson_05::softmax;
using lesson_09::merge_heads;
using lesson_09::one_head;
using lesson_09::split_heads;

int64_t kv_head_of(int64_t head, int64_t heads, int64_t kv_heads) {
  int64_t g = 0;
  // >>> g = the key/value head that this query head reads
  g = head / (heads / kv_heads);
  // <<<
  return g;
}

void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t T = q.dim(0), H = q.dim(1), D = q.dim(2), S = k.dim(0), G = k.dim(1);

  Tensor scores({H, T, S});  // (H, T, S): head h, query t, key s
  for (int64_t h = 0; h < H; ++h) {
    const int64_t g = kv_head_of(h, H, G);
    Tensor scores_h = scores[h];  // (T, S): the memory of head h
    // >>> scores_h = q of head h · kᵀ of head g / √D
    matmul_transposed(scores_h, one_head(q, h), one_head(k, g));
    for (int64_t i = 0; i < T * S; ++i) scores_h.flat(i) /= std::sqrt(float(D));
    // <<<
  }
  tap("scores", scores);

  Tensor weights = scores.copy();  // (H, T, S): in each head each row will sum to one
  for (int64_t h = 0; h < H; ++h) {
    Tensor weights_h = weights[h];  // (T, S)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = S - T + t + 1; s < S; ++s) weights_h(t, s) = -std::numeric_limits<float>::infinity();
    softmax(weights_h);
  }
  tap("weights", weights);

  for (int64_t h = 0; h < H; ++h) {
    const int64_t g = kv_head_of(h, H, G);
    Tensor read({T, D});  // (T, D): what head h reads
    // >>> read = weights of head h · v of head g
    matmul(read, weights[h], one_head(v, g));
    // <<<
    for (int64_t t = 0; t < T; ++t)
      for (int64_t d = 0; d < D; ++d) out(t, h, d) = read(t, d);
  }
}

void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w, int64_t heads, int64_t kv_heads,
               LayerCache& cache, int64_t start_pos) {
  const int64_t T = x.dim(0), S = start_pos + T, width = w.q.weight.dim(0), D = width / heads;  // width: H·D
  Tensor all_q({T, width});                                                                     // (T, H·D)
  ops.linear(all_q, x, w.q.weight, w.q.bias);
  const Tensor q = split_heads(all_q, heads);  // (T, H, D)
  tap("q", q);

  Tensor all_k, all_v;
  // >>> make all_k and all_v of the shape that w.k and w.v give, and project x to them
  all_k = Tensor({T, kv_heads * D}), all_v = Tensor({T, kv_heads * D});  // (T, G·D)
  ops.linear(all_k, x, w.k.weight, w.k.bias);
  ops.linear(all_v, x, w.v.weight, w.v.bias);
  // <<<
  Tensor new_k, new_v;  // (T, G, D)
  // >>> new_k and new_v = the same two with their heads apart
  new_k = split_heads(all_k, kv_heads);
  new_v = split_heads(all_v, kv_heads);
  // <<<
  tap("k", new_k), tap("v", new_v);

  // >>> copy new_k and new_v to their rows of the cache, (capacity, G, D)
  Tensor k_rows = cache.k.view_rows(start_pos, T), v_rows = cache.v.view_rows(start_pos, T);  // (T, G, D)
  ops.copy(k_rows, new_k);
  ops.copy(v_rows, new_v);
  // <<<

  Tensor attn_out(q.shape());  // (T, H, D): what each head of each token has read
  sdpa(attn_out, q, cache.k.view_rows(0, S), cache.v.view_rows(0, S));
  tap("attn_out", attn_out);
  ops.linear(out, merge_heads(attn_out), w.o.weight, w.o.bias);
}

void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                     int64_t start_pos) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C}), normed({T, C}), attended({T, C});  // (T, C)
  lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding.view_rows(start_pos, T));
  tap("x", x);

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LayerWeights& layer = w.layers[i];
    ops.layer_norm(normed, x, layer.attention_norm.weight, layer.attention_norm.bias, w.epsilon);
    tap("attention_normed", normed);
    attention(ops, attended, normed, layer.attention, w.num_heads, w.num_kv_heads, cache.layers[i], start_pos);
    tap("attention", attended);
    ops.add(x, attended);
    lesson_04::feed_forward(ops, x, layer, w.epsilon);
    tap("x", x);
  }

  ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
  tap("normed", normed);
  ops.linear(logits, normed, w.output.weight, w.output.bias);  // (T, V)
}

int64_t cache_bytes(const Config& c, int64_t positions, int64_t element_bytes) {
  int64_t row = 0;
  // >>> row = how many numbers one layer keeps of one token: a key and a value of each key/value head
  row = 2 * c.num_kv_heads * c.head_dim;
  // <<<
  tap("row", Tensor::view_of(&row, {}, DType::i64));

  // >>> return the bytes of the rows of all tokens in all layers
  return c.num_layers * positions * row * element_bytes;
  // <<<
}

}  // namespace lesson_10
