// Lesson 19: a softmax that is never finished and always right, and what it saves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/device_memory.hpp"
#include "lesson.hpp"
#include "rungs/tensor/print.hpp"

using namespace rungs;
using lesson_19::AttentionShape;
using lesson_19::CacheShape;

/// What a warp knows after each key, for values of one number.
static void walk(const std::vector<float>& scores, const std::vector<float>& values) {
  fmt::print("{:>8}{:>8}{:>10}{:>10}{:>10}{:>14}\n", "score", "value", "largest", "sum", "values", "values / sum");
  float largest = -INFINITY, sum = 0, value = 0;
  for (size_t s = 0; s < scores.size(); ++s) {
    const float now = std::max(largest, scores[s]), old = std::exp(largest - now), weight = std::exp(scores[s] - now);
    sum = sum * old + weight, value = value * old + weight * values[s], largest = now;
    fmt::print("{:>8}{:>8}{:>10}{:>10.4f}{:>10.4f}{:>14.4f}\n", scores[s], values[s], largest, sum, value, value / sum);
  }
}

static Tensor noise(const Shape& shape, float step) {
  Tensor x(shape);
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = std::sin(step * float(i + 1));
  return x;
}

/// The largest difference between two results.
static double apart(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (int64_t i = 0; i < a.count(); ++i) most = std::max(most, std::fabs(a.value(i) - b.value(i)));
  return most;
}

int main() {
  fmt::print("one query, five keys, a head of one number\n");
  walk({1, 3, 2, 6, 4}, {10, 20, 30, 40, 50});

  const AttentionShape n{20, 70, 4, 2, 32};
  const Tensor q = to_device(noise({n.T, n.H, n.D}, 0.7f));
  const Tensor k = to_device(noise({n.S, n.G, n.D}, 1.3f)), v = to_device(noise({n.S, n.G, n.D}, 0.9f));
  Tensor scores = device_tensor({n.H, n.T, n.S});
  Tensor naive = device_tensor({n.T, n.H, n.D}), online = device_tensor(naive.shape()),
         tiled = device_tensor(naive.shape()), flash2 = device_tensor(naive.shape());
  lesson_19::attention_naive(naive.data(), scores.data(), q.data(), k.data(), v.data(), n, nullptr);
  lesson_19::attention_online(online.data(), q.data(), k.data(), v.data(), n, nullptr);
  lesson_19::attention_tiled(tiled.data(), q.data(), k.data(), v.data(), n, nullptr);
  lesson_19::attention_flash2(flash2.data(), q.data(), k.data(), v.data(), n, nullptr);
  fmt::print("\n{} queries after {} tokens, {} heads on {}: apart by less than 1e-6\n", n.T, n.S - n.T, n.H, n.G);
  fmt::print("  online and naive   {}\n", apart(to_host(online), to_host(naive)) < 1e-6);
  fmt::print("  tiled and naive    {}\n", apart(to_host(tiled), to_host(naive)) < 1e-6);
  fmt::print("  flash2 and naive   {}\n", apart(to_host(flash2), to_host(naive)) < 1e-6);
  const int32_t first = 0, last_place = n.S - 1;
  const Tensor sequence = to_device(Tensor::view_of(&first, {1}, DType::i32));
  const Tensor position = to_device(Tensor::view_of(&last_place, {1}, DType::i32));
  for (const int splits : {1, 4, 16, 100}) {  // the last query alone; k and v are the cache of one sequence
    const CacheShape one{1, n.S, n.H, n.G, n.D};
    Tensor partial = device_tensor({n.H, splits, 2 + n.D}), split = device_tensor({1, n.H, n.D});
    const ConstTensor last = q.view_rows(n.T - 1, 1);
    lesson_19::attention_split(split.data(), partial.data(), last.data(), k.data(), v.data(), sequence.data<int32_t>(),
                               position.data<int32_t>(), one, splits, nullptr);
    fmt::print("  {:>3} splits         {}\n", splits,
               apart(to_host(split), to_host(naive.view_rows(n.T - 1, 1))) < 1e-6);
  }

  fmt::print("\nscores of one layer of Llama 3 8B (32 heads, f32), all in memory at once\n");
  for (const int64_t T : {1024, 4096, 8192}) {
    const int64_t bytes = 32 * T * T * int64_t(sizeof(float));
    fmt::print("  {:>5} tokens{:>8.2f} GiB\n", T, double(bytes) / double(1 << 30));
  }
}
