#include "kernels/attention/attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "attention_cases.hpp"

namespace rungs::test {

using namespace attention_cases;

namespace {

/// \name A rung of the ladder as a function of host tensors
///@{
Tensor run_01(const Case& c) {
  const auto [T, S, H, G, D] = c.sizes;
  const Tensor q = to_device(c.q), k = to_device(c.k), v = to_device(c.v);
  Tensor scores = device_tensor({H, T, S});
  Out out(T, H, D);
  attention_01(out.data, q.data(), k.data(), v.data(), scores.data(), T, S, H, G, D, nullptr);
  return out.read();
}

template <auto attention>
Tensor run(const Case& c) {
  const auto [T, S, H, G, D] = c.sizes;
  const Tensor q = to_device(c.q), k = to_device(c.k), v = to_device(c.v);
  Out out(T, H, D);
  attention(out.data, q.data(), k.data(), v.data(), T, S, H, G, D, nullptr);
  return out.read();
}

/// The same with every pointer one float off where it would stand.
template <auto attention>
Tensor run_misaligned(const Case& c) {
  const auto [T, S, H, G, D] = c.sizes;
  const auto shifted = [](const Tensor& x) {
    Tensor room({x.count() + 1});
    std::copy_n(x.data(), x.count(), room.data() + 1);
    return to_device(room);
  };
  const Tensor q = shifted(c.q), k = shifted(c.k), v = shifted(c.v);
  Tensor out = to_device(Tensor({c.q.count() + 1}));
  attention(out.data() + 1, q.data() + 1, k.data() + 1, v.data() + 1, T, S, H, G, D, nullptr);
  return to_host(out).view_rows(1, c.q.count()).copy();
}

/// The rows of one or more cases, each of which is a sequence of a batch.
Tensor run_04(const std::vector<const Case*>& cases, int capacity) {
  const auto [T0, S0, H, G, D] = cases[0]->sizes;
  const auto B = int(cases.size());
  Tensor k({B, capacity, G, D}), v({B, capacity, G, D});  // NaN beyond the keys that there are
  std::vector<int> sequence, position;
  std::vector<float> q;
  for (int b = 0; b < B; ++b) {
    const Case& c = *cases[size_t(b)];
    const auto keys = size_t(c.k.count()), start = size_t(b) * capacity * G * D;
    std::copy_n(c.k.data(), keys, k.data() + start);
    std::copy_n(c.v.data(), keys, v.data() + start);
    q.insert(q.end(), c.q.data(), c.q.data() + c.q.count());
    for (int t = 0; t < c.sizes.T; ++t) {
      sequence.push_back(b);
      position.push_back(c.sizes.S - c.sizes.T + t);
    }
  }
  const auto N = int(sequence.size());
  const auto floats = int64_t(attention_04_workspace(N, capacity, H, G, D));
  Tensor workspace = to_device(Tensor({floats + 1}));
  const Tensor queries = to_device(Tensor::view_of(q.data(), {N, H, D}, DType::f32));
  Tensor keys = to_device(k), values = to_device(v);
  const Tensor rows = integers(sequence), positions = integers(position);
  Out out(N, H, D);
  const CacheRows cache{keys.data(), values.data(), rows.data<int32_t>(), positions.data<int32_t>(), capacity};
  attention_04(out.data, queries.data(), cache, workspace.data(), N, capacity, H, G, D, nullptr);
  const bool clean = std::bit_cast<uint32_t>(to_host(workspace)(floats)) == never_written;
  CHECK_MESSAGE(clean, "written beyond the workspace");
  return out.read();
}

Tensor run_04_alone(const Case& c) { return run_04({&c}, c.sizes.S + 3); }

/// The same from a paged cache: the last block of the last sequence lies first in memory, and between each two blocks
/// is one of nobody, of NaN.
Tensor run_04_paged(const std::vector<const Case*>& cases, int capacity, int block_size) {
  const auto [T0, S0, H, G, D] = cases[0]->sizes;
  int blocks = 1;
  for (const Case* c : cases) blocks += 2 * ((c->sizes.S + block_size - 1) / block_size);
  Tensor k({blocks, block_size, G, D}), v({blocks, block_size, G, D});
  std::vector<int> position, first_block, tables;
  std::vector<float> q;
  for (int next = blocks - 2; const Case* c : cases) {
    const int first = int(tables.size()), row = G * D;
    for (int s = 0; s < c->sizes.S; s += block_size, next -= 2) {
      tables.push_back(next);
      const auto count = size_t(std::min(block_size, c->sizes.S - s)) * size_t(row);
      std::copy_n(c->k.data() + s * row, count, k.data() + int64_t(next) * block_size * row);
      std::copy_n(c->v.data() + s * row, count, v.data() + int64_t(next) * block_size * row);
    }
    q.insert(q.end(), c->q.data(), c->q.data() + c->q.count());
    for (int t = 0; t < c->sizes.T; ++t) {
      first_block.push_back(first);
      position.push_back(c->sizes.S - c->sizes.T + t);
    }
  }
  const auto N = int(position.size());
  Tensor keys = to_device(k), values = to_device(v);
  Tensor workspace = to_device(Tensor({int64_t(attention_04_workspace(N, capacity, H, G, D))}));
  const Tensor queries = to_device(Tensor::view_of(q.data(), {N, H, D}, DType::f32));
  const Tensor positions = integers(position), firsts = integers(first_block), all = integers(tables);
  const CacheRows cache{keys.data(),         values.data(),         nullptr, positions.data<int32_t>(), block_size,
                        all.data<int32_t>(), firsts.data<int32_t>()};
  Out out(N, H, D);
  attention_04(out.data, queries.data(), cache, workspace.data(), N, capacity, H, G, D, nullptr);
  return out.read();
}

Tensor run_04_paged_alone(const Case& c) { return run_04_paged({&c}, c.sizes.S, 5); }
///@}

struct Rung {
  std::string name;
  Tensor (*run)(const Case&);
};
const std::vector<Rung> ladder = {{"01", run_01},       {"02", run<attention_02>},        {"03", run<attention_03>},
                                  {"04", run_04_alone}, {"04 paged", run_04_paged_alone}, {"05", run<attention_05>}};

/// One check for each rung, which names the worst element.
void check_rungs(const std::vector<Rung>& rungs, const Case& c) {
  const auto [T, S, H, G, D] = c.sizes;
  CAPTURE(T);
  CAPTURE(S);
  CAPTURE(H);
  CAPTURE(G);
  CAPTURE(D);
  const std::vector<double> allowed(c.want.size(), c.tolerance);
  for (const Rung& rung : rungs) {
    CAPTURE(rung.name);
    CHECK(difference(rung.run(c), c.want, allowed) == "");
  }
}

}  // namespace

TEST_CASE("attention: every query sees itself and what is before it") {
  for (const int T : {1, 2, 3, 31, 32, 33, 63, 64, 65, 130}) check_rungs(ladder, random_case({T, T, 1, 1, 6}));
}

TEST_CASE("attention: every head width") {
  for (const int D : {1, 2, 3, 4, 6, 31, 32, 33, 48, 63, 64, 65, 80, 96, 127, 128, 129, 200, 255, 256})
    check_rungs(ladder, random_case({2, 37, 2, 1, D}));
}

TEST_CASE("attention: one query on 1 to 200 keys") {
  const std::vector<Rung> for_one_query = {ladder[1], ladder[3], ladder[4]};
  for (int S = 1; S <= 200; ++S) check_rungs(for_one_query, random_case({1, S, 1, 1, 8}));
  for (const int S : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65}) check_rungs(ladder, random_case({1, S, 1, 1, 8}));
}

TEST_CASE("attention: a run of queries after a past") {
  for (const int past : {1, 31, 32, 33, 100})
    for (const int T : {2, 33, 65}) check_rungs(ladder, random_case({T, past + T, 1, 1, 16}));
}

TEST_CASE("attention: query heads share a key/value head") {
  for (const auto& [G, group] : {std::pair{1, 2}, {1, 4}, {1, 5}, {1, 8}, {1, 9}, {2, 1}, {2, 3}, {3, 4}, {2, 17}}) {
    check_rungs(ladder, random_case({2, 40, G * group, G, 12}));
    check_rungs(ladder, random_case({1, 20, G * group, G, 5}));
  }
}

TEST_CASE("attention_04: every width and group of query heads that models have") {
  for (const int D : {64, 128, 256})
    for (const int group : {1, 2, 4, 8}) check_rungs({ladder[3], ladder[4]}, random_case({1, 40, group, 1, D}));
}

TEST_CASE("attention: widths of real models on tiles that are not full") {
  check_rungs(ladder, random_case({70, 70, 2, 1, 64}));
  check_rungs(ladder, random_case({65, 97, 2, 1, 128}));
  check_rungs(ladder, random_case({33, 50, 1, 1, 256}));
}

TEST_CASE("attention: memory that begins anywhere") {
  const std::vector<Rung> rungs = {
      {"02", run_misaligned<attention_02>}, {"03", run_misaligned<attention_03>}, {"05", run_misaligned<attention_05>}};
  check_rungs(rungs, random_case({3, 40, 2, 1, 16}));
}

// Products of two bf16 are exact in f32, so what rounded q, k and v give comes within the tolerance; then each weight
// is rounded to 8 bits, off by 2⁻⁹ of itself, and the weights' sum is 1.
TEST_CASE("attention_05_rounded: attention of q, k and v as bf16, whose weights are bf16, too") {
  for (const Sizes& sizes : {Sizes{1, 1, 1, 1, 6},
                             {34, 70, 2, 1, 6},
                             {65, 97, 4, 2, 64},
                             {70, 70, 2, 1, 128},
                             {33, 50, 2, 1, 81},
                             {3, 40, 1, 1, 200}}) {
    Case c = random_case(sizes);
    const bool rounds = sizes.D <= 128;
    if (rounds)
      for (Tensor* x : {&c.q, &c.k, &c.v})
        for (int64_t i = 0; i < x->count(); ++i) x->flat(i) = to_float(to_bf16(x->flat(i)));
    solve(c);
    double largest_value = 0;
    for (const double v : values(c.v)) largest_value = std::max(largest_value, std::abs(v));
    if (rounds) c.tolerance += 0x1p-9 * largest_value;
    if (rounds)
      for (int64_t i = 0; i < c.q.count(); ++i) c.q.flat(i) *= 1 + 0x1p-10f;  // which rounding takes away
    check_rungs({{"05 rounded", run<attention_05_rounded>}, {"05 rounded", run_misaligned<attention_05_rounded>}}, c);
  }
}

TEST_CASE("attention: scores far above 90") {
  for (const int D : {6, 128})
    for (const float size : {60.0f, 300.0f}) check_rungs(ladder, random_case({34, 70, 1, 1, D}, size));
}

TEST_CASE("attention: one weight is all") {
  for (const int key : {0, 20, 36}) {
    Case c = random_case({33, 69, 1, 1, 8});
    for (float& x : std::span(c.q.data(), size_t(c.q.count()))) x = 1e6f * (1 + std::abs(x));
    for (int d = 0; d < 8; ++d) c.k.at(key, 0, d) = 2;
    solve(c);
    check_rungs(ladder, c);
  }
}

TEST_CASE("attention: the largest score comes last, or first") {
  for (const float slope : {2.0f, -2.0f}) {
    Case c = random_case({3, 150, 2, 1, 4});
    for (int s = 0; s < 150; ++s) c.k.at(s, 0, 0) = slope * float(s);
    for (float& x : std::span(c.q.data(), size_t(c.q.count()))) x = std::abs(x) + 1;
    solve(c);
    check_rungs(ladder, c);
  }
}

TEST_CASE("attention_04: sequences of a batch have different lengths") {
  for (const int D : {6, 64}) {
    std::vector<Case> cases;
    for (const int S : {1, 700, 2, 31, 32, 33, 64, 65, 250}) cases.push_back(random_case({1, S, 6, 2, D}));
    cases.push_back(random_case({4, 90, 6, 2, D}));
    std::vector<const Case*> batch;
    std::vector<double> want, allowed;
    for (const Case& c : cases) {
      batch.push_back(&c);
      want.insert(want.end(), c.want.begin(), c.want.end());
      allowed.insert(allowed.end(), c.want.size(), c.tolerance);
    }
    for (const int capacity : {700, 5000}) {
      const Tensor whole = run_04(batch, capacity);
      CHECK(difference(whole, want, allowed) == "");
      for (const int block_size : {1, 16, 700}) {
        const Tensor paged = run_04_paged(batch, capacity, block_size);
        CHECK(std::memcmp(paged.raw(), whole.raw(), whole.bytes()) == 0);
      }
    }
  }
}

TEST_CASE("attention_04: more rows and heads than blocks that run at once") {
  const Case c = random_case({80, 90, 5, 5, 3});
  CHECK(difference(run_04_alone(c), c.want, std::vector<double>(c.want.size(), c.tolerance)) == "");
}

TEST_CASE("attention_04: the workspace of many rows is enough for few") {
  for (const int capacity : {1, 64, 65, 1000, 100000})
    for (const int G : {1, 3, 8, 1000}) {
      std::vector<size_t> floats;
      for (int N = 1; N < 600; ++N) floats.push_back(attention_04_workspace(N, capacity, G, G, 64));
      CHECK(std::is_sorted(floats.begin(), floats.end()));
    }
}

TEST_CASE("attention: sizes that no kernel takes") {
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 257}, {1, 1, 1, 1, 0}, {1, 1, 3, 2, 8}, {2, 1, 1, 1, 8}}) {
    float* none = nullptr;
    CHECK_THROWS_AS(attention_01(none, none, none, none, none, s.T, s.S, s.H, s.G, s.D, nullptr), ShapeError);
    CHECK_THROWS_AS(attention_02(none, none, none, none, s.T, s.S, s.H, s.G, s.D, nullptr), ShapeError);
    CHECK_THROWS_AS(attention_03(none, none, none, none, s.T, s.S, s.H, s.G, s.D, nullptr), ShapeError);
    CHECK_THROWS_AS(attention_05(none, none, none, none, s.T, s.S, s.H, s.G, s.D, nullptr), ShapeError);
  }
  CHECK_THROWS_WITH_AS(
      attention_04(nullptr, nullptr, {nullptr, nullptr, nullptr, nullptr, 8}, nullptr, 1, 8, 4, 4, 300, nullptr),
      "attention: head width 300, want 1 to 256", ShapeError);
}

}  // namespace rungs::test
