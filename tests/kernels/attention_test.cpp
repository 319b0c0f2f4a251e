#include "kernels/attention/attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_memory.hpp"
#include "support.hpp"

namespace rungs::test {
namespace {

struct Sizes {
  int T, S, H, G, D;
};

/// One sequence and what it is to give.
struct Case {
  Sizes sizes;
  Tensor q, k, v;            // (T, H, D), (S, G, D), (S, G, D)
  std::vector<double> want;  // (T, H, D)
  double tolerance;          // for each element
};

/// What attention gives, and the largest of all scores, without their sign.
template <class Real>
struct Attended {
  std::vector<Real> out;  // (T, H, D)
  Real largest_score = 0;
};

/// Attention step by step as its formula reads, in numbers of type Real.
template <class Real>
Attended<Real> plain_attention(const Sizes& sizes, const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto [T, S, H, G, D] = sizes;
  Attended<Real> result{std::vector<Real>(size_t(T * H * D))};
  std::vector<Real> weight(S);
  for (int t = 0; t < T; ++t)
    for (int h = 0; h < H; ++h) {
      const float* q_row = q.data() + (size_t(t) * H + h) * D;
      const size_t head = size_t(h / (H / G)) * D, stride = size_t(G) * D;
      const int seen = S - T + t + 1;
      Real largest = -INFINITY, total = 0;
      for (int s = 0; s < seen; ++s) {
        const float* k_row = k.data() + s * stride + head;
        Real sum = 0;
        for (int d = 0; d < D; ++d) sum += Real(q_row[d]) * Real(k_row[d]);
        weight[s] = sum / std::sqrt(Real(D));
        largest = std::max(largest, weight[s]);
        result.largest_score = std::max(result.largest_score, std::abs(weight[s]));
      }
      for (int s = 0; s < seen; ++s) total += weight[s] = std::exp(weight[s] - largest);
      Real* out_row = result.out.data() + (size_t(t) * H + h) * D;
      for (int s = 0; s < seen; ++s) {
        const float* v_row = v.data() + s * stride + head;
        for (int d = 0; d < D; ++d) out_row[d] += weight[s] / total * Real(v_row[d]);
      }
    }
  return result;
}

/// What it is to give, to within eight times what plain float32 is off. That is taken to be at least four roundings of
/// the largest value, and at least what two scores do that are rounded once each: where they are nearly equal,
/// each takes half of the values, and the halves move by half of that.
void solve(Case& c) {
  const auto [want, largest_score] = plain_attention<double>(c.sizes, c.q, c.k, c.v);
  const auto plain = plain_attention<float>(c.sizes, c.q, c.k, c.v).out;
  double largest_value = 0;
  for (const double v : values(c.v)) largest_value = std::max(largest_value, std::abs(v));
  double error = unit_roundoff * largest_score * largest_value;
  for (size_t i = 0; i < want.size(); ++i)
    error = std::max({error, std::abs(plain[i] - want[i]), 4 * unit_roundoff * std::abs(want[i])});
  c.want = want;
  c.tolerance = 8 * error;
}

/// Random queries, `size` large, keys and values.
Case random_case(const Sizes& sizes, float size = 4) {
  const auto [T, S, H, G, D] = sizes;
  Case c{sizes, random_tensor({T, H, D}, 1), random_tensor({S, G, D}, 2), random_tensor({S, G, D}, 3), {}, 0};
  for (float& x : std::span(c.q.data(), size_t(c.q.count()))) x *= size;
  solve(c);
  return c;
}

/// Device memory that nobody has written, with a row more in front of what a
/// kernel gets, and one behind it.
struct Out {
  Tensor memory;
  float* data;
  Out(int rows, int H, int D) : memory(to_device(Tensor({rows + 2, H, D}))), data(memory.data() + size_t(H) * D) {}
  /// What was written. Fails when that is more than the kernel was given.
  Tensor read() const {
    const Tensor all = to_host(memory);
    const size_t row = size_t(all.dim(1) * all.dim(2)), last = size_t(all.count()) - row;
    bool clean = true;
    for (size_t i = 0; i < row; ++i)
      for (const size_t at : {i, last + i}) clean &= std::bit_cast<uint32_t>(all.data()[at]) == never_written;
    CHECK_MESSAGE(clean, "written beyond the rows of the result");
    return all.view_rows(1, all.dim(0) - 2).copy();
  }
};

Tensor integers(const std::vector<int>& values) {
  Tensor tensor({int64_t(values.size())}, DType::i32);
  std::copy(values.begin(), values.end(), tensor.data<int32_t>());
  return to_device(tensor);
}

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
  const Tensor keys = to_device(k), values = to_device(v), rows = integers(sequence), positions = integers(position);
  Out out(N, H, D);
  attention_04(out.data, queries.data(), keys.data(), values.data(), rows.data<int32_t>(), positions.data<int32_t>(),
               workspace.data(), N, capacity, H, G, D, nullptr);
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
  attention_04_paged(out.data, queries.data(), cache, workspace.data(), N, capacity, H, G, D, nullptr);
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

namespace {

/// The newest tokens of N sequences, before RoPE, and a cache of what came before.
struct Decoding {
  int N, H, G, D, capacity;
  std::vector<int> sequence, position;         // (N)
  Tensor q, k, v, cos, sin, k_cache, v_cache;  // (N, H, D), 2 × (N, G, D), 2 × (capacity, D/2), 2 × (B, capacity, G, D)
};

/// Sequence N - n has position[n] keys in its cache, and NaN beyond; sequence 0 takes no part. Queries are `size`
/// large, and those of heads and rows differ, as do all keys.
Decoding decoding(int H, int G, int D, const std::vector<int>& position, int capacity, float size = 4) {
  const auto N = int(position.size());
  Decoding c{N, H, G, D, capacity, {}, position, {}, {}, {}, {}, {}, {}, {}};
  c.q = random_tensor({N, H, D}, 1), c.k = random_tensor({N, G, D}, 2), c.v = random_tensor({N, G, D}, 3);
  for (float& x : std::span(c.q.data(), size_t(c.q.count()))) x *= size;
  c.cos = Tensor({capacity, D / 2}), c.sin = Tensor({capacity, D / 2});
  for (int p = 0; p < capacity; ++p)
    for (int i = 0; i < D / 2; ++i) {
      const double angle = p * std::pow(10000.0, -2.0 * i / D);
      c.cos(p, i) = float(std::cos(angle)), c.sin(p, i) = float(std::sin(angle));
    }
  c.k_cache = Tensor({N + 1, capacity, G, D}), c.v_cache = Tensor({N + 1, capacity, G, D});
  for (int n = 0; n < N; ++n) {
    c.sequence.push_back(N - n);
    if (position[size_t(n)] == 0) continue;
    const Tensor k = random_tensor({position[size_t(n)], G, D}, unsigned(10 + n));
    const Tensor v = random_tensor({position[size_t(n)], G, D}, unsigned(50 + n));
    const size_t to = size_t(N - n) * capacity * G * D;
    std::copy_n(k.data(), k.count(), c.k_cache.data() + to);
    std::copy_n(v.data(), v.count(), c.v_cache.data() + to);
  }
  return c;
}

/// The same on the device. `shift`: every pointer is so many floats off a multiple of 16 bytes.
struct DecodingOnDevice {
  const Decoding& host;
  int shift;
  Tensor q, k, v, cos, sin, k_cache, v_cache, sequence, position, workspace, counters;
  Out out;

  DecodingOnDevice(const Decoding& c, int off)
      : host(c),
        shift(off),
        q(placed(c.q)),
        k(placed(c.k)),
        v(placed(c.v)),
        cos(placed(c.cos)),
        sin(placed(c.sin)),
        k_cache(placed(c.k_cache)),
        v_cache(placed(c.v_cache)),
        sequence(integers(c.sequence)),
        position(integers(c.position)),
        workspace(to_device(Tensor({floats() + 1}))),
        counters(integers(std::vector<int>(size_t(c.N) * c.H, 0))),
        out(c.N, c.H, c.D) {}
  Tensor placed(const Tensor& x) const {
    Tensor room({x.count() + shift});
    std::copy_n(x.data(), x.count(), room.data() + shift);
    return to_device(room);
  }
  Tensor got(const Tensor& x, const Shape& shape) const {
    const Tensor all = to_host(x);
    Tensor result(shape);
    std::copy_n(all.data() + shift, result.count(), result.data());
    return result;
  }
  int64_t floats() const { return int64_t(attention_04_workspace(host.N, host.capacity, host.H, host.G, host.D)); }
  CacheRows cache() {
    return {k_cache.data() + shift, v_cache.data() + shift, sequence.data<int32_t>(), position.data<int32_t>(),
            host.capacity};
  }
  RopePointers rotary() const { return {cos.data() + shift, sin.data() + shift}; }
  void run_06() {
    attention_06(out.data, q.data() + shift, k.data() + shift, v.data() + shift, cache(), rotary(), workspace.data(),
                 reinterpret_cast<unsigned*>(counters.data<int32_t>()), host.N, host.H, host.G, host.D, nullptr);
  }
  void append() {
    rope_02_append(q.data() + shift, cache(), k.data() + shift, v.data() + shift, rotary(), host.N, host.H, host.G,
                   host.D, nullptr);
  }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// Rung 6, several times: its result, what it leaves in the cache, and that it writes nothing else.
void check_decoding(const Decoding& c, int shift = 0, int launches = 2) {
  CAPTURE(c.N);
  CAPTURE(c.H);
  CAPTURE(c.G);
  CAPTURE(c.D);
  CAPTURE(c.capacity);
  CAPTURE(shift);
  DecodingOnDevice plain(c, shift), fused(c, shift);
  plain.append();
  const Tensor q = plain.got(plain.q, c.q.shape()), k = plain.got(plain.k_cache, c.k_cache.shape());
  const Tensor v = plain.got(plain.v_cache, c.v_cache.shape());

  // Attention of each row over what rope_02_append has made, and over that in double precision.
  std::vector<double> want, allowed;
  for (int n = 0; n < c.N; ++n) {
    const int S = c.position[size_t(n)] + 1;
    Case one{{1, S, c.H, c.G, c.D}, {}, {}, {}, {}, 0};
    one.q = q.view_rows(n, 1).copy();
    const auto of_sequence = [&](const Tensor& cache) {
      const size_t row = size_t(c.G) * c.D;
      Tensor rows({S, c.G, c.D});
      std::copy_n(cache.data() + size_t(c.sequence[size_t(n)]) * c.capacity * row, S * row, rows.data());
      return rows;
    };
    one.k = of_sequence(k), one.v = of_sequence(v);
    solve(one);
    want.insert(want.end(), one.want.begin(), one.want.end());
    allowed.insert(allowed.end(), one.want.size(), one.tolerance);
  }

  for (int launch = 0; launch < launches; ++launch) {
    CAPTURE(launch);
    fused.run_06();
    CHECK(difference(fused.out.read(), want, allowed) == "");
    CHECK(same_bits(fused.got(fused.k_cache, k.shape()), k));
    CHECK(same_bits(fused.got(fused.v_cache, v.shape()), v));
    CHECK(same_bits(fused.got(fused.q, c.q.shape()), c.q));
    CHECK(same_bits(fused.got(fused.k, c.k.shape()), c.k));
    const Tensor counters = to_host(fused.counters);
    const auto* count = counters.data<int32_t>();
    CHECK(std::count(count, count + counters.count(), 0) == counters.count());
    CHECK(std::bit_cast<uint32_t>(to_host(fused.workspace)(fused.floats())) == never_written);
  }
}

}  // namespace

TEST_CASE("attention_06: every head width, aligned and not") {
  for (const int D : {2, 4, 6, 8, 16, 30, 32, 34, 48, 64, 66, 80, 96, 126, 128, 130, 136, 200, 254, 256})
    for (const int shift : {0, 1}) check_decoding(decoding(2, 1, D, {70}, 200), shift, 1);
}

TEST_CASE("attention_06: the first positions, around a split's keys, and the last of the cache") {
  for (const int position : {0, 1, 2, 15, 16, 30, 31, 32, 33, 62, 63, 64, 65, 95, 96, 127, 128, 129, 253, 254, 255})
    for (const int D : {6, 32}) check_decoding(decoding(2, 2, D, {position}, 256));
}

TEST_CASE("attention_06: every width and group of query heads that models have") {
  for (const int D : {32, 64, 128, 256})
    for (const int group : {1, 2, 3, 4, 5, 8, 9, 17}) check_decoding(decoding(group, 1, D, {75}, 150));
  for (const int group : {2, 5, 9}) check_decoding(decoding(3 * group, 3, 10, {40}, 150));
}

TEST_CASE("attention_06: rows of several sequences at different positions") {
  for (const int capacity : {64, 300, 5000})
    for (const int D : {6, 64}) {
      std::vector<int> position = {0, capacity - 1, 1, 33, 63, 31, 32, 50};
      check_decoding(decoding(6, 2, D, position, capacity), 0, 3);
    }
}

TEST_CASE("attention_06: the newest key alone has weight, or none") {
  for (const float size : {60.0f, 300.0f}) check_decoding(decoding(4, 2, 64, {90}, 400, size));
}

TEST_CASE("attention_06: the same counters serve steps at one position after the other") {
  Decoding c = decoding(4, 2, 16, {29, 60}, 400);
  DecodingOnDevice plain(c, 0), fused(c, 0);
  const int64_t count = int64_t(c.N) * c.H * c.D;
  for (int step = 0; step < 8; ++step) {
    plain.q = plain.placed(c.q);  // rope_02_append turns it in place
    plain.append();
    attention_04(plain.out.data, plain.q.data(), plain.k_cache.data(), plain.v_cache.data(),
                 plain.sequence.data<int32_t>(), plain.position.data<int32_t>(), plain.workspace.data(), c.N,
                 c.capacity, c.H, c.G, c.D, nullptr);
    fused.run_06();
    // Both are within 8 times what float32 is off, of values below 1 and scores below 16.
    const std::vector<double> allowed(size_t(count), 16 * 16 * unit_roundoff);
    CHECK(difference(fused.out.read(), values(plain.out.read()), allowed) == "");
    for (int& position : c.position) ++position;
    plain.position = integers(c.position), fused.position = integers(c.position);
    c.q = random_tensor(c.q.shape(), unsigned(100 + step)), fused.q = fused.placed(c.q);
    c.k = random_tensor(c.k.shape(), unsigned(200 + step)), c.v = random_tensor(c.v.shape(), unsigned(300 + step));
    for (DecodingOnDevice* on : {&plain, &fused}) on->k = on->placed(c.k), on->v = on->placed(c.v);
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
  CHECK_THROWS_WITH_AS(attention_06(nullptr, nullptr, nullptr, nullptr, {nullptr, nullptr, nullptr, nullptr, 8}, {},
                                    nullptr, nullptr, 1, 4, 4, 7, nullptr),
                       "attention: RoPE turns pairs, and a head width of 7 is odd", ShapeError);
  CHECK_THROWS_WITH_AS(
      attention_04(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1, 8, 4, 4, 300, nullptr),
      "attention: head width 300, want 1 to 256", ShapeError);
}

}  // namespace rungs::test
