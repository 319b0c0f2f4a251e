#include "rungs/generate/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rungs/base/error.hpp"

namespace rungs {

void check(const SampleOptions& options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    throw UsageError(fmt::format("temperature: wanted a number of at least 0, found {}", options.temperature));
  if (options.top_k < 0) throw UsageError(fmt::format("top-k: wanted at least 0, found {}", options.top_k));
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw UsageError(fmt::format("top-p: wanted a number above 0 and at most 1, found {}", options.top_p));
}

std::string in_words(const SampleOptions& options) {
  return fmt::format("temperature {}, top-k {}, top-p {}", options.temperature, options.top_k, options.top_p);
}

/// The largest logit's id, the lowest on a tie.
static size_t largest(std::span<const float> logits) {
  float most = -HUGE_VALF, nothing = 0;
#pragma omp simd reduction(max : most) reduction(+ : nothing)
  for (size_t i = 0; i < logits.size(); ++i) {
    most = logits[i] > most ? logits[i] : most;
    nothing += logits[i] - logits[i];  // NaN, of a logit that is not finite
  }
  if (nothing != 0) {
    const auto wrong = std::find_if_not(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
    throw UsageError(fmt::format("logit {} is {}: wanted finite logits", wrong - logits.begin(), *wrong));
  }
  return size_t(std::find(logits.begin(), logits.end(), most) - logits.begin());
}

static void divide_by_sum(std::span<float> p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (float& x : p) x = float(x / sum);
}

/// How many of the most probable tokens make a sum of p, when all that `order` holds sum to `total`.
static size_t reaching(double p, double total, std::span<const float> out, std::span<const int32_t> order) {
  double sum = 0;
  size_t n = 0;
  while (n < order.size() && sum < p * total) sum += out[size_t(order[n++])];
  return n;
}

void probabilities(std::span<float> out, std::span<const float> logits, const SampleOptions& options,
                   std::vector<int32_t>& order) {
  check(options);
  if (logits.empty() || out.size() != logits.size())
    throw UsageError(fmt::format("{} logits do not make {} probabilities", logits.size(), out.size()));
  const size_t best = largest(logits);
  if (options.temperature == 0) {
    std::fill(out.begin(), out.end(), 0.0f);
    out[best] = 1;
    return;
  }
  // The largest logit is subtracted before the division, so that no temperature overflows.
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = float(std::exp((double(logits[i]) - logits[best]) / options.temperature));
  divide_by_sum(out);

  const size_t V = out.size(), k = options.top_k == 0 ? V : std::min(V, size_t(options.top_k));
  if (k == V && options.top_p == 1) return;
  order.resize(V);
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + int64_t(k), order.end(), [&](int32_t a, int32_t b) {
    return out[size_t(a)] != out[size_t(b)] ? out[size_t(a)] > out[size_t(b)] : a < b;
  });
  size_t kept = k;
  if (options.top_p < 1) {
    const std::span<const int32_t> top(order.data(), k);
    double total = 0;
    for (const int32_t id : top) total += out[size_t(id)];
    kept = reaching(options.top_p, total, out, top);
  }
  for (size_t i = kept; i < V; ++i) out[size_t(order[i])] = 0;
  divide_by_sum(out);
}

int32_t sample(std::span<const float> probabilities, double draw) {
  if (!(draw >= 0 && draw < 1)) throw UsageError(fmt::format("a draw is a number in [0, 1), not {}", draw));
  double sum = 0;
  int32_t last = -1;  // with a probability at all: rounding can leave the whole sum just below the draw
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] > 0) last = int32_t(i);
    sum += probabilities[i];
    if (sum > draw) return int32_t(i);
  }
  if (last < 0) throw UsageError("wanted probabilities that sum to 1, found none above 0");
  return last;
}

int32_t Sampler::sample(std::span<const float> logits, double draw) {
  if (pick_) return pick_(logits, options_, draw);
  if (options_.temperature == 0 && !logits.empty()) return int32_t(largest(logits));
  probabilities_.resize(logits.size());
  probabilities(probabilities_, logits, options_, order_);
  return rungs::sample(probabilities_, draw);
}

}  // namespace rungs
