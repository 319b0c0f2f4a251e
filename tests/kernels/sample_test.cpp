#include "kernels/sample/sample.hpp"

#include <limits>
#include <numeric>

#include "rows.hpp"
#include "rungs/generate/sampler.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

namespace {

using TopP = void (*)(int*, const float*, const Draw*, void*, int, int, cudaStream_t);
constexpr TopP rungs_of_top_p[] = {top_p_01, top_p_02};

int batches() { return kernels_are_checked() ? 40 : 150; }
int large_rows() { return kernels_are_checked() ? 2 : 6; }

/// Rows of logits, and for each how its token is drawn.
struct Rows {
  int N, V;
  Tensor logits;           // (N, V)
  std::vector<Draw> draw;  // (N)
  Rows(int rows, int vocabulary) : N(rows), V(vocabulary), logits({rows, vocabulary}), draw(size_t(rows)) {}
};

/// The tokens of both rungs, which must be the same, however often each runs.
std::vector<int> tokens(const Rows& rows, int times = 1) {
  const Tensor logits = to_device(rows.logits);
  Tensor bytes({int64_t(rows.N * sizeof(Draw) / 4)}, DType::i32);
  std::memcpy(bytes.raw(), rows.draw.data(), bytes.bytes());
  const Tensor draw = to_device(bytes);
  std::vector<int> first;
  for (const TopP top_p : rungs_of_top_p)
    for (int i = 0; i < times; ++i) {
      Tensor id = to_device(Tensor({rows.N}, DType::i32));
      Tensor workspace = device_tensor({int64_t(sample_workspace(rows.N, rows.V) / 4)});
      top_p(id.data<int32_t>(), logits.data(), reinterpret_cast<const Draw*>(draw.raw()), workspace.raw(), rows.N,
            rows.V, nullptr);
      const Tensor host = to_host(id);
      const std::vector<int> got(host.data<int32_t>(), host.data<int32_t>() + rows.N);
      if (first.empty()) first = got;
      CHECK(got == first);
    }
  return first;
}

std::vector<float> probabilities_of(std::span<const float> logits, const SampleOptions& options) {
  std::vector<float> p(logits.size());
  std::vector<int32_t> order;
  probabilities(p, logits, options, order);
  return p;
}

/// The distance of `number` from the nearest running sum of p, in parts of `whole`.
double distance_to_sums(std::span<const float> p, double whole, double number) {
  double sum = 0, nearest = 1;
  for (const float x : p)
    if (x > 0) nearest = std::min(nearest, std::abs((sum += x) / whole - number));
  return nearest;
}

/// Every row's token must be the CPU's. The probabilities are the same numbers, but the sums of up to V of them are
/// made in another order, each addition off by at most 2⁻⁵³. So another token is excused where the draw, or top_p, is
/// not further than some V · 2⁻⁵³ from a running sum; how many were is returned.
int check_tokens(const Rows& rows, int times = 1) {
  int excused = 0;
  const std::vector<int> got = tokens(rows, times);
  for (int n = 0; n < rows.N; ++n) {
    const Draw& d = rows.draw[size_t(n)];
    const std::span<const float> logits(rows.logits.data() + size_t(n) * rows.V, size_t(rows.V));
    const std::vector<float> p = probabilities_of(logits, {d.temperature, d.top_k, d.top_p});
    const int want = sample(p, d.draw);
    if (got[size_t(n)] == want) continue;
    double margin = distance_to_sums(p, 1, d.draw);
    if (d.top_p < 1 && d.temperature > 0) {
      std::vector<float> all = probabilities_of(logits, {d.temperature, 0, 1});
      std::sort(all.begin(), all.end(), std::greater<>());
      if (d.top_k > 0) all.resize(size_t(std::min(d.top_k, rows.V)));
      margin = std::min(margin, distance_to_sums(all, std::accumulate(all.begin(), all.end(), 0.0), d.top_p));
    }
    CAPTURE(rows.V);
    CAPTURE(n);
    CAPTURE(d.temperature);
    CAPTURE(d.top_k);
    CAPTURE(d.top_p);
    CAPTURE(d.draw);
    CAPTURE(margin);
    if (margin > 4 * rows.V * 0x1p-53) CHECK(got[size_t(n)] == want);
    ++excused;
  }
  return excused;
}

/// Logits of many kinds: spread, with ties, all equal, a few far above the others.
void fill(Tensor& logits, int n, std::mt19937& random) {
  const int64_t V = logits.cols();
  const auto uniform = [&] { return float(random()) * 0x1p-32f; };
  const float spread = std::pow(10.0f, uniform() * 3 - 1);  // 0.1 to 100
  const int kind = int(random() % 5);
  for (int64_t i = 0; i < V; ++i) {
    float x = (uniform() * 2 - 1) * spread;
    if (kind == 1) x = std::round(x);                            // many ties
    if (kind == 2) x = -2.5f;                                    // nothing else
    if (kind == 3) x = random() % 16 == 0 ? x + 3 * spread : x;  // two groups
    if (kind == 4) x = random() % 2 == 0 ? 0.0f : -0.0f;         // equal, but not in their bits
    logits.at(int64_t(n), i) = x;
  }
}

Draw some_draw(std::mt19937& random, int V) {
  const auto uniform = [&] { return double(random()) * 0x1p-32; };
  Draw d;
  const double temperatures[] = {0, 0.01, 0.1, 0.7, 1, 1, 2, 5};
  d.temperature = temperatures[random() % 8];
  d.top_k = random() % 2 == 0 ? 0 : 1 + int(random() % unsigned(random() % 2 == 0 ? V + 2 : std::min(V, 50)));
  d.top_p = random() % 3 == 0 ? 1 : random() % 8 == 0 ? 0.25 : 1e-9 + uniform() * (1 - 1e-9);
  d.draw = random() % 16 == 0 ? 0 : random() % 16 == 0 ? 1 - 0x1p-53 : uniform();
  return d;
}

}  // namespace

TEST_CASE("argmax is the lowest id of the largest logit") {
  std::mt19937 random(1);
  for (const int V : {1, 31, 32, 33, 1000, 2047, 2048, 2049, 5000, 128256})
    for (const int N : {1, 3}) {
      CAPTURE(V);
      CAPTURE(N);
      Tensor logits({N, V});
      std::vector<int> want;
      for (int n = 0; n < N; ++n) {
        fill(logits, n, random);
        const float* row = logits.data() + size_t(n) * V;
        want.push_back(int(std::max_element(row, row + V) - row));
      }
      const Tensor in = to_device(logits);
      Tensor workspace = device_tensor({int64_t(sample_workspace(N, V) / 4)});
      for (const int rung : {1, 2}) {
        CAPTURE(rung);
        Tensor id = to_device(Tensor({N}, DType::i32));
        if (rung == 1) argmax_01(id.data<int32_t>(), in.data(), N, V, nullptr);
        if (rung == 2) argmax_02(id.data<int32_t>(), in.data(), workspace.raw(), N, V, nullptr);
        const Tensor host = to_host(id);
        CHECK(std::vector<int>(host.data<int32_t>(), host.data<int32_t>() + N) == want);
      }
    }
}

TEST_CASE("a logit that is not finite gives not_finite wherever it stands, and other rows their token") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})
    for (const int place : {0, 31, 2048, 2099}) {
      CAPTURE(wrong);
      CAPTURE(place);
      Rows rows(2, 2100);
      for (auto& x : {0, 1})
        for (int i = 0; i < 2100; ++i) rows.logits(x, i) = i == 77 ? 1e30f : -1e30f;
      rows.logits(1, place) = wrong;
      rows.draw[0] = rows.draw[1] = {0.7, 0.9, 0.5, 40};
      CHECK(tokens(rows) == std::vector<int>{77, not_finite});
      rows.draw[0] = rows.draw[1] = {0, 1, 0.5, 0};
      CHECK(tokens(rows) == std::vector<int>{77, not_finite});

      const Tensor in = to_device(rows.logits);
      Tensor id = to_device(Tensor({4}, DType::i32)),
             workspace = device_tensor({int64_t(sample_workspace(2, 2100) / 4)});
      argmax_01(id.data<int32_t>(), in.data(), 2, 2100, nullptr);
      argmax_02(id.data<int32_t>() + 2, in.data(), workspace.raw(), 2, 2100, nullptr);
      const Tensor host = to_host(id);
      CHECK(std::vector<int>(host.data<int32_t>(), host.data<int32_t>() + 4) ==
            std::vector<int>{77, not_finite, 77, not_finite});
    }
}

TEST_CASE("top_p chooses the token that the CPU's sampler chooses") {
  std::mt19937 random(20);
  for (int i = 0; i < batches(); ++i) {
    const int V = 1 + int(random() % unsigned(i % 16 == 0 ? 5000 : 300));
    Rows rows(16, V);
    for (int n = 0; n < rows.N; ++n) {
      fill(rows.logits, n, random);
      rows.draw[size_t(n)] = some_draw(random, V);
    }
    check_tokens(rows);
  }
}

TEST_CASE("the draw falls on the CPU's token even next to its ends") {
  constexpr double next_to = 1e-12;  // one probability rounded otherwise would move an end by more
  std::mt19937 random(21);
  for (int i = 0; i < batches(); ++i) {
    const int V = 1 + int(random() % 300u);
    Rows rows(16, V);
    for (int n = 0; n < rows.N; ++n) {
      fill(rows.logits, n, random);
      Draw& d = rows.draw[size_t(n)] = some_draw(random, V);
      const std::span<const float> logits(rows.logits.data() + size_t(n) * V, size_t(V));
      const std::vector<float> p = probabilities_of(logits, {d.temperature, d.top_k, d.top_p});
      const double end = std::accumulate(p.begin(), p.begin() + 1 + int(random() % unsigned(V)), 0.0);
      d.draw = std::clamp(end + (random() % 2 == 0 ? next_to : -next_to), 0.0, 1 - 0x1p-53);
    }
    check_tokens(rows);
  }
}

TEST_CASE("top_p chooses the CPU's token from a large vocabulary, and always the same") {
  std::mt19937 random(3);
  Rows rows(large_rows(), 128256);
  for (int n = 0; n < rows.N; ++n) {
    fill(rows.logits, n, random);
    rows.draw[size_t(n)] = some_draw(random, rows.V);
    rows.draw[size_t(n)].temperature = n % 2 == 0 ? 1 : 0.3;
  }
  check_tokens(rows, 2);
}

TEST_CASE("top_p cuts equal probabilities by id where the sums are exact") {
  // 1000 equal logits: each probability is the same f32, and every sum of them exact.
  std::vector<Draw> draws;
  for (const double p : {0.001, 0.25, 0.3, 0.5, 0.999, 1.0})
    for (const int k : {0, 1, 3, 500, 999, 1000, 1001})
      for (const double draw : {0.0, 0.25, 1.0 / 3, 0.5, 0.998, 1 - 0x1p-53}) draws.push_back({1, p, draw, k});
  Rows rows(int(draws.size()), 1000);
  rows.draw = draws;
  for (int64_t i = 0; i < rows.logits.count(); ++i) rows.logits.flat(i) = 4;
  CHECK(check_tokens(rows) == 0);

  // The tie stands below two larger ones, in the last places of the row, and the cut goes through it.
  Rows tied(3, 3000);
  for (int n = 0; n < 3; ++n)
    for (int i = 0; i < 3000; ++i) tied.logits(n, i) = i == 5 || i == 2999 ? 2.0f : i >= 2000 ? 1.0f : -1.0f;
  for (int n = 0; n < 3; ++n) tied.draw[size_t(n)] = {1, 1, n == 0 ? 0.0 : n == 1 ? 0.79 : 0.999999, 10};
  const std::vector<int> got = tokens(tied);
  CHECK(got[0] == 5);
  CHECK(got[1] >= 2000);
  CHECK(got[1] < 2008);  // eight of the thousand stay
  CHECK(got[2] == 2999);
  CHECK(check_tokens(tied) == 0);
}

TEST_SUITE_END();
