#include "systems/intensity.hpp"

namespace rungs {

Work prefill_attention(int64_t tokens, int64_t head_width, int64_t element_bytes, Formula formula) {
  const auto N = double(tokens), d = double(head_width);
  const double elements = formula == Formula::course ? 4 * N * d + 3 * N * N + N * d : 4 * N * d + 4 * N * N;
  return {4 * N * N * d + 5 * N * N, elements * double(element_bytes)};
}

Work decode_attention(int64_t tokens, int64_t head_width, int64_t batch, int64_t element_bytes, Caches caches,
                      Formula formula) {
  const auto N = double(tokens), d = double(head_width), B = double(batch);
  const double copies = caches == Caches::own ? B : 1;
  const double elements =
      formula == Formula::course ? copies * (2 * N + 1) * d + B * 3 * N : copies * 2 * N * d + B * (2 * d + 4 * N);
  return {B * (4 * N * d + 5 * N), elements * double(element_bytes)};
}

}  // namespace rungs
