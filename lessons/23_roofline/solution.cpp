#include <algorithm>
#include <cmath>
#include <string>

#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_23 {

/// Shows the FLOPs and the bytes of a part, which are whole numbers.
static void tap_cost(const std::string& part, const Cost& cost) {
  const int64_t flops = std::llround(cost.flops), bytes = std::llround(cost.bytes);
  tap((part + "_flops").c_str(), Tensor::view_of(&flops, {}, DType::i64));
  tap((part + "_bytes").c_str(), Tensor::view_of(&bytes, {}, DType::i64));
}

Cost attention(int64_t queries, int64_t keys, int64_t d, int64_t element_bytes) {
  Cost scores, softmax, attn_out;
  // >>> scores: of each query with each key, d multiplications and d additions; Q (queries, d) and K (keys, d) to S
  scores.flops = double(2 * queries * keys * d);
  scores.bytes = double(element_bytes * (queries * d + keys * d + queries * keys));
  // <<<
  tap_cost("scores", scores);

  // >>> softmax: five FLOPs for each score; S (queries, keys) is read and P (queries, keys) written
  softmax.flops = double(5 * queries * keys);
  softmax.bytes = double(element_bytes * 2 * queries * keys);
  // <<<
  tap_cost("softmax", softmax);

  // >>> attn_out: P (queries, keys) times V (keys, d), to O (queries, d)
  attn_out.flops = double(2 * queries * d * keys);
  attn_out.bytes = double(element_bytes * (queries * keys + keys * d + queries * d));
  // <<<
  tap_cost("attn_out", attn_out);
  return scores + softmax + attn_out;
}

Cost prefill_attention(int64_t N, int64_t d, int64_t element_bytes) {
  // >>> every token has a query, and all of them read the same keys and values
  return attention(N, N, d, element_bytes);
  // <<<
}

Cost decode_attention(int64_t N, int64_t d, int64_t batch, bool shared, int64_t element_bytes) {
  // >>> own caches: as often as there are requests, one query over N keys; shared: all queries over the same N keys
  if (shared) return attention(batch, N, d, element_bytes);
  return double(batch) * attention(1, N, d, element_bytes);
  // <<<
}

Cost linear(int64_t rows, int64_t in, int64_t out, int64_t element_bytes) {
  // >>> rows · out sums of `in` products; x, the weight and y cross once each
  return {double(2 * rows * in * out), double(element_bytes * (rows * in + in * out + rows * out))};
  // <<<
}

ForwardCost forward(const Config& config, int64_t batch, int64_t rows, int64_t past, int64_t element_bytes) {
  const int64_t C = config.hidden_size, H = config.num_heads, G = config.num_kv_heads, D = config.head_dim;
  const int64_t F = config.intermediate_size, L = config.num_layers, V = config.vocab_size, e = element_bytes;

  Cost embedding, projections, attended, feed_forward, output;
  // >>> embedding: no FLOPs; the row of each token fed is read from the table and written as x
  embedding.bytes = double(e * 2 * batch * rows * C);
  // <<<
  tap_cost("embedding", embedding);

  // >>> projections: L layers with q (C to H·D), k and v (C to G·D) and o (H·D to C), for all tokens of all sequences
  const int64_t fed = batch * rows;
  projections = double(L) * (linear(fed, C, H * D, e) + 2 * linear(fed, C, G * D, e) + linear(fed, H * D, C, e));
  // <<<
  tap_cost("projections", projections);

  // >>> attended: in L layers of each sequence G key/value heads, each read by the queries of H / G heads
  attended = double(L * batch * G) * attention(H / G * rows, past + rows, D, e);
  // <<<
  tap_cost("attended", attended);

  // >>> feed_forward: L layers with gate and up (C to F) and down (F to C)
  feed_forward = double(L) * (2 * linear(batch * rows, C, F, e) + linear(batch * rows, F, C, e));
  // <<<
  tap_cost("feed_forward", feed_forward);

  // >>> output: C to V, for the last token of each sequence
  output = linear(batch, C, V, e);
  // <<<
  tap_cost("output", output);
  return {embedding, projections, attended, feed_forward, output};
}

double ridge(double bandwidth, double peak) {
  // >>> where bandwidth · intensity reaches the peak
  return peak / bandwidth;
  // <<<
}

double attainable(double intensity, double bandwidth, double peak) {
  // >>> the lower of two limits: what memory can feed, and what the processor can compute
  return std::min(bandwidth * intensity, peak);
  // <<<
}

void prefill_curve(Tensor& out, const std::vector<int64_t>& contexts, int64_t d, int64_t element_bytes) {
  for (size_t i = 0; i < contexts.size(); ++i) {
    // >>> out(i) = the intensity of a prefill of contexts[i] tokens
    out(i) = float(intensity(prefill_attention(contexts[i], d, element_bytes)));
    // <<<
  }
}

void decode_curve(Tensor& out, const std::vector<int64_t>& batches, int64_t N, int64_t d, bool shared,
                  int64_t element_bytes) {
  for (size_t i = 0; i < batches.size(); ++i) {
    // >>> out(i) = the intensity of a decoding step of batches[i] requests
    out(i) = float(intensity(decode_attention(N, d, batches[i], shared, element_bytes)));
    // <<<
  }
}

double least_seconds(const std::vector<Cost>& operations, double bandwidth, double peak) {
  double seconds = 0;
  for (const Cost& operation : operations) {
    // >>> add the time of this operation to seconds: that of its FLOPs or that of its bytes, whichever is longer
    seconds += std::max(operation.flops / peak, operation.bytes / bandwidth);
    // <<<
  }
  return seconds;
}

}  // namespace lesson_23
