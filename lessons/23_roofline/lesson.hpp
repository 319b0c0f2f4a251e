/// Lesson 23: the roofline, what a computation does for every byte that it moves.
#pragma once

#include <cstdint>
#include <vector>

#include "rungs/model/config.hpp"
#include "rungs/tensor/tensor.hpp"

/// Lesson 23, 23_roofline.
namespace lesson_23 {

using namespace rungs;

/// What a computation does, and what it moves between memory and processor.
struct Cost {
  double flops = 0;  ///< floating-point operations; a multiplication and an addition are two
  double bytes = 0;  ///< read and written
};

/// One after the other.
inline Cost operator+(const Cost& a, const Cost& b) { return {a.flops + b.flops, a.bytes + b.bytes}; }
/// As often as `times` says.
inline Cost operator*(double times, const Cost& cost) { return {times * cost.flops, times * cost.bytes}; }
/// Arithmetic intensity, in FLOP/byte.
inline double intensity(const Cost& cost) { return cost.flops / cost.bytes; }

/// `queries` queries over the same `keys` keys and values, all of width d. Three operations, each of which reads its
/// operands from memory once and writes its result there: S = Q Kᵀ, P = softmax of each row of S, O = P V.
/// A softmax takes five FLOPs a score: maximum, difference, exponential, sum, quotient. The mask leaves no score out.
Cost attention(int64_t queries, int64_t keys, int64_t d, int64_t element_bytes);

/// One head of a prompt of N tokens: every token has a query, and all of them read the same keys and values.
Cost prefill_attention(int64_t N, int64_t d, int64_t element_bytes);

/// One head of one step of decoding: `batch` requests with one query and N keys each. Every request has its own keys
/// and values or, `shared`, all requests read the same.
Cost decode_attention(int64_t N, int64_t d, int64_t batch, bool shared, int64_t element_bytes);

/// y = x Wᵀ.  x: (rows, in); W: (out, in); y: (rows, out). Each of the three crosses between memory and processor once.
Cost linear(int64_t rows, int64_t in, int64_t out, int64_t element_bytes);

/// What one call of a model costs, part by part, in the order in which the parts run.
struct ForwardCost {
  Cost embedding, projections, attended, feed_forward, output;

  std::vector<Cost> parts() const { return {embedding, projections, attended, feed_forward, output}; }  ///< in order
  Cost total() const { return embedding + projections + attended + feed_forward + output; }             ///< of all
};

/// The products and the attention of a LLaMA, for one call: `batch` sequences feed `rows` tokens each, behind `past`
/// others that are in each one's cache, and want the logits of their last token. Norms, rotations and sums are done
/// while a number is at hand, and are not counted.
ForwardCost forward(const Config& config, int64_t batch, int64_t rows, int64_t past, int64_t element_bytes);

/// The intensity at which the two limits of a device meet. bandwidth: byte/s; peak: FLOP/s.
double ridge(double bandwidth, double peak);

/// FLOP/s that a device can reach at this intensity: the roof.
/// Williams, Waterman, Patterson 2009, "Roofline: An Insightful Visual Performance Model for Multicore Architectures".
double attainable(double intensity, double bandwidth, double peak);

/// out: (contexts), the intensity of prefill_attention at each of them.
void prefill_curve(Tensor& out, const std::vector<int64_t>& contexts, int64_t d, int64_t element_bytes);

/// out: (batches), the intensity of decode_attention over N keys at each of them.
void decode_curve(Tensor& out, const std::vector<int64_t>& batches, int64_t N, int64_t d, bool shared,
                  int64_t element_bytes);

/// The least time in which a device can do operations that run one after the other: each has a roof of its own, and the
/// times add up. An operation computes while it moves, so it takes as long as the slower of the two.
double least_seconds(const std::vector<Cost>& operations, double bandwidth, double peak);

}  // namespace lesson_23
