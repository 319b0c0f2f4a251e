// Attention: reading a prompt, and one query of a decoding step.
#include "kernels/attention/attention.hpp"

#include <fmt/format.h>

#include "bench.hpp"

namespace rungs::bench {

namespace {

struct Heads {
  int H, G, D;
};

/// out = the attention of one query and head over keys 0 to `last`.  q: (D); k, v: (S, G, D) of head g.
std::vector<double> sdpa(const float* q, const std::vector<float>& k, const std::vector<float>& v, int last, int g,
                         Heads h) {
  std::vector<double> score(size_t(last) + 1), out(size_t(h.D), 0.0);
  const auto row = [&](int s) { return (size_t(s) * h.G + g) * h.D; };
  double top = -INFINITY, sum = 0;
  for (int s = 0; s <= last; ++s) {
    for (int d = 0; d < h.D; ++d) score[s] += double(q[d]) * k[row(s) + d];
    score[s] /= std::sqrt(double(h.D));
    top = std::max(top, score[s]);
  }
  for (double& s : score) sum += s = std::exp(s - top);
  for (int s = 0; s <= last; ++s)
    for (int d = 0; d < h.D; ++d) out[d] += score[s] / sum * v[row(s) + d];
  return out;
}

void measure_prompt(Bench& bench) {
  const int T = bench.size(2048, 128, 19);
  const Heads h{bench.size(32, 4, 2), bench.size(8, 2, 1), bench.size(128, 64, 24)};
  const size_t query = size_t(T) * h.H * h.D, key = size_t(T) * h.G * h.D;
  const int turns = bench.turns(4 * (2 * query + 2 * key));
  Rotated<float> out(query, turns), q(query, turns), k(key, turns), v(key, turns), scores(size_t(h.H) * T * T, 1);
  q.fill(1, 2), k.fill(2, 2), v.fill(3);
  const double flop = 2.0 * h.D * h.H * T * (T + 1);  // a query and the keys up to itself, twice
  bench.ladder("attention", fmt::format("{} tokens, {} heads of {}, {} of keys", T, h.H, h.D, h.G), Unit::flop, 0, "");
  const auto measure = [&](const char* name, double tolerance, const std::function<void(int)>& run) {
    bench.measure({name, flop, run, [&] { out.poison(); },
                   [&, tolerance](int turn) {
                     const auto got = out.download(turn), from = q.download(turn);
                     const auto keys = k.download(turn), values = v.download(turn);
                     Worst worst;
                     for (const float x : got)
                       if (!std::isfinite(x)) return double(INFINITY);
                     for (int i = 0; i < 24; ++i) {
                       const int t = i == 0 ? 0 : T - 1 - i * (T - 1) / 24, head = i * 5 % h.H;
                       const size_t at = (size_t(t) * h.H + head) * h.D;
                       const auto want = sdpa(from.data() + at, keys, values, t, head / (h.H / h.G), h);
                       for (int d = 0; d < h.D; ++d) worst.compare(got[at + d], want[d], tolerance);
                     }
                     return worst.fraction;
                   }});
  };
  measure("01 naive", 2e-5,
          [&](int t) { attention_01(out[t], q[t], k[t], v[t], scores[0], T, T, h.H, h.G, h.D, nullptr); });
  measure("02 online softmax", 2e-5,
          [&](int t) { attention_02(out[t], q[t], k[t], v[t], T, T, h.H, h.G, h.D, nullptr); });
  measure("03 tiles", 2e-5, [&](int t) { attention_03(out[t], q[t], k[t], v[t], T, T, h.H, h.G, h.D, nullptr); });
  measure("05 tensor cores", 2e-4,
          [&](int t) { attention_05(out[t], q[t], k[t], v[t], T, T, h.H, h.G, h.D, nullptr); });
  // Values are below 1, and rounding takes up to 2⁻⁹ of a value and 2⁻⁹ of its weight.
  measure("05 rounded to bf16", 0x1p-8,
          [&](int t) { attention_05_rounded(out[t], q[t], k[t], v[t], T, T, h.H, h.G, h.D, nullptr); });
}

void measure_decode(Bench& bench) {
  const int capacity = bench.size(8192, 1024, 70);
  const Heads h{bench.size(32, 4, 2), bench.size(8, 2, 1), bench.size(128, 64, 24)};
  const size_t query = size_t(h.H) * h.D, key = size_t(capacity) * h.G * h.D;
  const int turns = bench.turns(8 * key);
  Rotated<float> out(query, turns), q(query, turns), k(key, turns), v(key, turns);
  Rotated<float> workspace(attention_04_workspace(1, capacity, h.H, h.G, h.D), 1);
  Rotated<int> sequence(1, 1), position(1, 1);
  q.fill(1, 2), k.fill(2, 2), v.fill(3);
  sequence.upload({0}), position.upload({capacity - 1});
  // Rung 6 writes the newest key and value itself, which are the same in each call, and RoPE by no angle.
  const size_t of_row = size_t(h.G) * h.D, angles = size_t(capacity) * h.D / 2;
  Rotated<float> new_k(of_row, 1), new_v(of_row, 1), cos(angles, 1), sin(angles, 1);
  Rotated<unsigned> counters(size_t(h.H), 1);
  new_k.fill(4, 2), new_v.fill(5), cos.fill(6, 0, 1), sin.fill(7, 0, 0);
  counters.upload(std::vector<unsigned>(size_t(h.H), 0));
  const auto poison = [&] { out.poison(), workspace.poison(); };
  const auto fault = [&](int turn) {
    const auto got = out.download(turn), from = q.download(turn), keys = k.download(turn), values = v.download(turn);
    Worst worst;
    for (int head = 0; head < h.H; ++head) {
      const auto want = sdpa(from.data() + size_t(head) * h.D, keys, values, capacity - 1, head / (h.H / h.G), h);
      for (int d = 0; d < h.D; ++d) worst.compare(got[size_t(head) * h.D + d], want[d], 2e-5);
    }
    return worst.fraction;
  };
  const double bytes = 8.0 * double(key) + 8.0 * double(query);
  bench.ladder("attention, one query", fmt::format("{} keys, {} heads of {}, {} of keys", capacity, h.H, h.D, h.G),
               Unit::byte, bench.copy_bandwidth, "copying");
  bench.measure({"02 online softmax", bytes,
                 [&](int t) { attention_02(out[t], q[t], k[t], v[t], 1, capacity, h.H, h.G, h.D, nullptr); }, poison,
                 fault});
  bench.measure({"04 split keys", bytes,
                 [&](int t) {
                   attention_04(out[t], q[t], {k[t], v[t], sequence[0], position[0], capacity}, workspace[0], 1,
                                capacity, h.H, h.G, h.D, nullptr);
                 },
                 poison, fault, "25% (50%)"});
  bench.measure({"06 one launch", bytes,
                 [&](int t) {
                   attention_06(out[t], q[t], new_k[0], new_v[0], {k[t], v[t], sequence[0], position[0], capacity},
                                {cos[0], sin[0]}, workspace[0], counters[0], 1, capacity, h.H, h.G, h.D, nullptr);
                 },
                 poison, fault});
}

}  // namespace

void measure_attention(Bench& bench) {
  if (!bench.wants("attention")) return;
  measure_prompt(bench);
  measure_decode(bench);
}

}  // namespace rungs::bench
