// How tensor cores add: the rule by itself, and that mma and wgmma keep it.
#include "sums.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "capability.hpp"
#include "tiny_kernel.hpp"

namespace rungs::ptx {

TEST_SUITE_BEGIN("kernels_ptx");

using Pairs = std::vector<std::pair<f32, f32>>;
static constexpr f32 infinity = std::numeric_limits<f32>::infinity();

static f32 sum_of(f32 c, const Pairs& pairs, Adder adder) {
  Factors a, b;
  for (u32 k = 0; k < pairs.size(); ++k) a.put(k, pairs[k].first), b.put(k, pairs[k].second);
  return add_products(c, a, b, adder);
}
static Pairs times(size_t count, f32 a, f32 b) { return Pairs(count, {a, b}); }

TEST_CASE("PTX: tensor cores lose what lies below their last bit, toward zero") {
  for (const Adder adder : {ampere, hopper}) {
    const bool is_hopper = adder.bits == 25;
    CAPTURE(is_hopper);
    CHECK(sum_of(1, times(16, 0x1p-12f, 0x1p-13f), adder) == (is_hopper ? 1 + 0x1p-21f : 1));
    CHECK(sum_of(1, times(16, 0x1p-12f, 0x1p-12f), adder) == 1 + 0x1p-20f);
    CHECK(sum_of(0x1.8p-24f, {{1, 1}, {-1, 1}}, adder) == (is_hopper ? 0x1.8p-24f : 0x1p-24f));
    CHECK(sum_of(1, {{0x1.8p-11f, 0x1p-12f}}, adder) == 1 + 0x1p-23f);
    CHECK(sum_of(-1, {{-0x1.8p-11f, 0x1p-12f}}, adder) == -1 - 0x1p-23f);
    CHECK(sum_of(1, {{-0x1p-13f, 0x1p-13f}}, adder) == 1);
    CHECK(sum_of(-1, {{0x1p-13f, 0x1p-13f}}, adder) == -1);
  }
}

TEST_CASE("PTX: tensor cores round between groups of 8 products on an A100 and not within 16 on an H100") {
  Pairs pairs = times(9, 0, 0);
  pairs[0] = {1, 1}, pairs[7] = {0x1p-12f, 0x1p-12f}, pairs[8] = {-1, 1};
  CHECK(sum_of(0, pairs, ampere) == 0);
  CHECK(sum_of(0, pairs, hopper) == 0x1p-24f);
  pairs[1] = {-1, 1}, pairs[7] = {0, 0}, pairs[8] = {0x1p-15f, 0x1p-15f};
  CHECK(sum_of(0, pairs, ampere) == 0x1p-30f);
  CHECK(sum_of(0, pairs, hopper) == 0);
}

TEST_CASE("PTX: tensor cores take the smallest and the largest numbers, infinities and NaN") {
  for (const Adder adder : {ampere, hopper}) {
    CHECK(sum_of(5, {{0x1p100f, 0x1p100f}, {-0x1p100f, 0x1p100f}}, adder) == 0);
    CHECK(sum_of(0, {{0x1p127f, 2}}, adder) == infinity);
    CHECK(sum_of(0, {{0x1p-130f, 0x1p10f}, {0, 0x1p127f}}, adder) == 0x1p-120f);
    CHECK(sum_of(0, {{0x1p-100f, 0x1.8p-49f}}, adder) == 0x1p-149f);
    CHECK(sum_of(-infinity, {{1, 1}}, adder) == -infinity);
    CHECK(std::isnan(sum_of(0, {{infinity, 0}}, adder)));
    CHECK(std::isnan(sum_of(infinity, {{-infinity, 1}}, adder)));
  }
}

/// Two neighbours of a row of a or a column of b, as a register has them.
static u32 in_register(f32 lower, f32 upper) {
  return std::bit_cast<u32>(lower) >> 16 | (std::bit_cast<u32>(upper) & 0xffff0000);
}

/// Element (0, 0) of c + a · b by one mma.
static f32 sum_by_mma(f32 c, Pairs pairs) {
  pairs.resize(16);
  std::vector<u64> input(64);  // of each lane: registers 0 and 2 of a, and both of b
  for (size_t lane = 0; lane < 4; ++lane)
    for (size_t half = 0; half < 2; ++half) {
      const auto &lower = pairs[8 * half + 2 * lane], &upper = pairs[8 * half + 2 * lane + 1];
      input[2 * lane] |= u64(in_register(lower.first, upper.first)) << 32 * half;
      input[2 * lane + 1] |= u64(in_register(lower.second, upper.second)) << 32 * half;
    }
  return std::bit_cast<f32>(u32(results(R"(
      mul.wide.u32 %rd3, %r0, 16;
      add.s64 %rd3, %rd3, %rd2;
      ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3];
      mov.f32 %f1, )" + literal(c) + R"(;
      mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f4, %f5, %f6, %f7}, {%r1, 0, %r2, 0}, {%r3, %r4}, {%f1, %f1, %f1, %f1};
      st.global.f32 [%rd1], %f4;)",
                                        input, 32)[0]));
}

/// The same by one wgmma. Rows of a and of b lie 1,024 bytes in a row of eight; all such eights are the same here.
static f32 sum_by_wgmma(f32 c, Pairs pairs) {
  pairs.resize(16);
  std::vector<u64> input(8);  // row 0 of a, then of b
  for (size_t k = 0; k < 16; k += 2) {
    input[k / 4] |= u64(in_register(pairs[k].first, pairs[k + 1].first)) << 16 * (k % 4);
    input[4 + k / 4] |= u64(in_register(pairs[k].second, pairs[k + 1].second)) << 16 * (k % 4);
  }
  std::string body = ".shared .align 1024 .b8 matrices[2048]; .reg .f32 %s<128>; mov.f32 %s0, " + literal(c) + ";";
  for (int word = 0; word < 8; ++word)
    body += "ld.global.u64 %rd3, [%rd2+" + std::to_string(8 * word) + "]; st.shared.u64 [matrices+" +
            std::to_string(word / 4 * 1024 + word % 4 * 8) + "], %rd3;";
  std::string sums = "%s0";
  for (int n = 1; n < 128; ++n) sums += ", %s" + std::to_string(n);
  return std::bit_cast<f32>(u32(results(body + R"(
      bar.sync 0;
      mov.u32 %r1, matrices;
      shr.u32 %r1, %r1, 4;
      cvt.u64.u32 %rd4, %r1;
      or.b64 %rd4, %rd4, 4611686018427387904;
      add.s64 %rd5, %rd4, 64;
      setp.eq.u32 %p1, 0, 0;
      wgmma.fence.sync.aligned;
      wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {)" +
                                            sums + R"(}, %rd4, %rd5, %p1, 1, 1, 0, 0;
      wgmma.commit_group.sync.aligned;
      wgmma.wait_group.sync.aligned 0;
      st.global.f32 [%rd1], %s0;)",
                                        input, 128)[0]));
}

TEST_CASE("PTX: mma adds as the GPU that is played, wgmma as an H100") {
  Pairs different;
  for (int k = 0; k < 16; ++k)
    different.emplace_back(std::ldexp(f32(k % 2 ? 77 + k : -66 - k), k % 5 * 3), std::ldexp(f32(3 * k + 1), -k));
  // Of 1 and these, an H100 keeps the first and an A100 neither; rounded once, both would stay.
  const Pairs small = times(16, 0x1p-12f, 0x1p-13f), smaller = times(16, 0x1p-12f, 0x1p-14f);
  for (const Pairs& pairs : {different, small, smaller}) {
    CHECK(sum_by_mma(1, pairs) == sum_of(1, pairs, compute_capability() == 9 ? hopper : ampere));
    CHECK(sum_by_wgmma(1, pairs) == sum_of(1, pairs, hopper));
  }
}

TEST_SUITE_END();

}  // namespace rungs::ptx
