// From logits to a token.
#include <fmt/format.h>

#include "bench.hpp"
#include "kernels/sample/sample.hpp"
#include "rungs/generate/sampler.hpp"

namespace rungs::bench {

void measure_choices(Bench& bench) {
  if (!bench.wants("sample")) return;
  const int V = bench.size(128256, 32000, 1001), turns = bench.turns(4 * size_t(V));
  Rotated<float> logits(size_t(V), turns);
  Rotated<int> id(1, turns);
  Rotated<char> workspace(sample_workspace(1, V), 1);
  Rotated<Draw> draw(1, 1);
  const SampleOptions options{.temperature = 0.8, .top_p = 0.9};
  constexpr double drawn = 0.6180339887;
  logits.fill(1, 8);
  draw.upload({{options.temperature, options.top_p, drawn, 0}});
  const auto poison = [&] { id.poison(), workspace.poison(); };
  const auto largest = [&](int turn) {
    const std::vector<float> from = logits.download(turn);
    return id.download(turn)[0] == int(std::max_element(from.begin(), from.end()) - from.begin()) ? 0.0 : INFINITY;
  };
  const auto chosen = [&](int turn) {
    const std::vector<float> from = logits.download(turn);
    std::vector<float> p(from.size());
    std::vector<int32_t> order;
    probabilities(p, from, options, order);
    return id.download(turn)[0] == sample(p, drawn) ? 0.0 : INFINITY;
  };
  bench.ladder("sample", fmt::format("one row of {} logits", V), Unit::byte, bench.copy_bandwidth, "copying");
  const double bytes = 4.0 * V;
  bench.measure(
      {"argmax 01 block per row", bytes, [&](int t) { argmax_01(id[t], logits[t], 1, V, nullptr); }, poison, largest});
  bench.measure({"argmax 02 many blocks", bytes,
                 [&](int t) { argmax_02(id[t], logits[t], workspace[0], 1, V, nullptr); }, poison, largest});
  bench.measure({"top_p 01 block per row", bytes,
                 [&](int t) { top_p_01(id[t], logits[t], draw[0], workspace[0], 1, V, nullptr); }, poison, chosen});
  bench.measure({"top_p 02 many blocks", bytes,
                 [&](int t) { top_p_02(id[t], logits[t], draw[0], workspace[0], 1, V, nullptr); }, poison, chosen});
}

}  // namespace rungs::bench
