#include "rungs/analysis/intensity.hpp"

namespace rungs {

std::array<AttentionStep, 3> attention_steps(double queries, double keys, double head_dim, double batch,
                                             double caches) {
  const double scores = batch * queries * keys, q = batch * queries * head_dim, k = caches * keys * head_dim;
  return {{{"S = Q K^T", 2 * scores * head_dim, q + k, scores},
           {"P = softmax(S)", 5 * scores, scores, scores},
           {"O = P V", 2 * scores * head_dim, scores + k, q}}};
}

static Cost total(const std::array<AttentionStep, 3>& steps, int64_t element_bytes) {
  Cost all;
  for (const AttentionStep& step : steps)
    all = all + Cost{step.flops, (step.read + step.written) * double(element_bytes)};
  return all;
}

Cost prefill_attention(int64_t tokens, int64_t head_dim, int64_t element_bytes, Formula formula) {
  const auto N = double(tokens), d = double(head_dim);
  Cost cost = total(attention_steps(N, N, d), element_bytes);
  if (formula == Formula::course) cost.bytes = (4 * N * d + 3 * N * N + N * d) * double(element_bytes);
  return cost;
}

Cost decode_attention(int64_t tokens, int64_t head_dim, int64_t batch, int64_t element_bytes, Caches caches,
                      Formula formula) {
  const auto N = double(tokens), d = double(head_dim), B = double(batch);
  const double copies = caches == Caches::own ? B : 1;
  Cost cost = total(attention_steps(1, N, d, B, copies), element_bytes);
  if (formula == Formula::course) cost.bytes = (copies * (2 * N + 1) * d + B * 3 * N) * double(element_bytes);
  return cost;
}

}  // namespace rungs
