// Rung 6 of attention: RoPE, the append to the cache and the split keys of a decoding step in one kernel.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "attention_cases.hpp"
#include "kernels/attention/attention.hpp"

namespace rungs::test {

using namespace attention_cases;

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

/// A cache of whole sequences in blocks: those of the last sequence lie first, its last block before all, and before,
/// between and behind them lie blocks of nobody.
struct BlockTables {
  int block_size = 0, of_sequence = 0, blocks = 0;  // block_size 0: the cache is not paged
  std::vector<int> tables;                          // of_sequence a sequence

  BlockTables(int size, int sequences, int capacity) : block_size(size) {
    if (size == 0) return;
    of_sequence = (capacity + size - 1) / size, blocks = 2 * sequences * of_sequence + 1;
    for (int block = blocks - 2; block > 0; block -= 2) tables.push_back(block);
  }
  /// Copies between a cache as it is tested, (B, capacity, G, D), and one in blocks, (blocks, block_size, G, D).
  template <class Whole, class InBlocks, class Copy>
  void each_row(Whole& whole, InBlocks& paged, const Copy& copy) const {
    const int64_t row = whole.count() / whole.dim(0) / whole.dim(1);
    for (int64_t s = 0; s < whole.dim(0); ++s)
      for (int64_t p = 0; p < whole.dim(1); ++p) {
        const int64_t block = tables[size_t(s * of_sequence + p / block_size)];
        copy(whole.data() + (s * whole.dim(1) + p) * row, paged.data() + (block * block_size + p % block_size) * row,
             row);
      }
  }
};

/// The same on the device. `shift`: every pointer is so many floats off a multiple of 16 bytes.
struct DecodingOnDevice {
  const Decoding& host;
  int shift;
  BlockTables blocks;
  Tensor q, k, v, cos, sin, k_cache, v_cache, sequence, position, block_tables, first_block, workspace, counters;
  Out out;

  DecodingOnDevice(const Decoding& c, int off, int block_size = 0)
      : host(c),
        shift(off),
        blocks(block_size, c.N + 1, c.capacity),
        q(placed(c.q)),
        k(placed(c.k)),
        v(placed(c.v)),
        cos(placed(c.cos)),
        sin(placed(c.sin)),
        k_cache(placed(in_cache(c.k_cache))),
        v_cache(placed(in_cache(c.v_cache))),
        sequence(integers(c.sequence)),
        position(integers(c.position)),
        block_tables(integers(blocks.tables)),
        first_block(integers(first_blocks())),
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
  /// The whole cache (B, capacity, G, D) as the device is to have it.
  Tensor in_cache(const Tensor& whole) const {
    if (!blocks.block_size) return whole.copy();
    Tensor paged({blocks.blocks, blocks.block_size, host.G, host.D});
    blocks.each_row(whole, paged, [](const float* from, float* to, int64_t row) { std::copy_n(from, row, to); });
    return paged;
  }
  /// And what the device's cache holds; all that belongs to nobody must be as it was.
  Tensor got_cache(const Tensor& x, const Tensor& before) const {
    if (!blocks.block_size) return got(x, before.shape());
    Tensor paged = got(x, {blocks.blocks, blocks.block_size, host.G, host.D}), whole(before.shape());
    blocks.each_row(whole, paged, [](float* to, const float* from, int64_t row) { std::copy_n(from, row, to); });
    Tensor expected = in_cache(whole);
    CHECK_MESSAGE(std::memcmp(paged.raw(), expected.raw(), paged.bytes()) == 0, "written into a block of nobody");
    return whole;
  }
  std::vector<int> first_blocks() const {
    std::vector<int> first;
    for (const int s : host.sequence) first.push_back(s * blocks.of_sequence);
    return first;
  }
  int64_t floats() const { return int64_t(attention_04_workspace(host.N, host.capacity, host.H, host.G, host.D)); }
  CacheRows cache() {
    float *keys = k_cache.data() + shift, *values = v_cache.data() + shift;
    if (!blocks.block_size) return {keys, values, sequence.data<int32_t>(), position.data<int32_t>(), host.capacity};
    return {keys,
            values,
            nullptr,
            position.data<int32_t>(),
            blocks.block_size,
            block_tables.data<int32_t>(),
            first_block.data<int32_t>()};
  }
  RopePointers rotary() const { return {cos.data() + shift, sin.data() + shift}; }
  void run_06() {
    attention_06(out.data, q.data() + shift, k.data() + shift, v.data() + shift, cache(), rotary(), workspace.data(),
                 reinterpret_cast<unsigned*>(counters.data<int32_t>()), host.N, host.capacity, host.H, host.G, host.D,
                 nullptr);
  }
  void append() {
    rope_02_append(q.data() + shift, cache(), k.data() + shift, v.data() + shift, rotary(), host.N, host.H, host.G,
                   host.D, nullptr);
  }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// Rung 6, several times: its result, what it leaves in the cache, and that it writes nothing else. From a cache in
/// blocks of these sizes it gives the same bits.
void check_decoding(const Decoding& c, int shift = 0, int launches = 2, const std::vector<int>& block_sizes = {5}) {
  CAPTURE(c.N);
  CAPTURE(c.H);
  CAPTURE(c.G);
  CAPTURE(c.D);
  CAPTURE(c.capacity);
  CAPTURE(shift);
  DecodingOnDevice plain(c, shift), fused(c, shift);
  std::vector<DecodingOnDevice> paged;
  for (const int block_size : block_sizes) paged.emplace_back(c, shift, block_size);
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
    const Tensor out = fused.out.read();
    CHECK(difference(out, want, allowed) == "");
    for (DecodingOnDevice& in_blocks : paged) {
      CAPTURE(in_blocks.blocks.block_size);
      in_blocks.run_06();
      CHECK(same_bits(in_blocks.out.read(), out));
      CHECK(same_bits(in_blocks.got_cache(in_blocks.k_cache, k), k));
      CHECK(same_bits(in_blocks.got_cache(in_blocks.v_cache, v), v));
    }
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
      check_decoding(decoding(6, 2, D, position, capacity), 0, 3, {1, 16, 24, capacity});
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
    attention_04(plain.out.data, plain.q.data(), plain.cache(), plain.workspace.data(), c.N, c.capacity, c.H, c.G, c.D,
                 nullptr);
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

TEST_CASE("attention_06: a head width that RoPE cannot turn") {
  CHECK_THROWS_WITH_AS(attention_06(nullptr, nullptr, nullptr, nullptr, {nullptr, nullptr, nullptr, nullptr, 8}, {},
                                    nullptr, nullptr, 1, 8, 4, 4, 7, nullptr),
                       "attention: RoPE turns pairs, and a head width of 7 is odd", ShapeError);
}

}  // namespace rungs::test
