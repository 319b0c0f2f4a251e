#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "conversions.hpp"
#include "tensor_map.hpp"
#include "tiny_kernel.hpp"

namespace rungs::ptx {

TEST_SUITE_BEGIN("kernels_ptx");

static constexpr f32 nan = std::numeric_limits<f32>::quiet_NaN(), infinity = std::numeric_limits<f32>::infinity();

/// opcode of f32 operands that gives an f32.
static f32 of_floats(const std::string& opcode, const std::vector<f32>& operands) {
  std::string body = opcode + " %f0";
  for (const f32 operand : operands) body += ", " + literal(operand);
  return result<f32>(body + "; st.global.f32 [%rd1], %f0;");
}
static u32 of_integers(const std::string& opcode, const std::string& operands) {
  return result<u32>(opcode + " %r1, " + operands + "; st.global.u32 [%rd1], %r1;");
}

TEST_CASE("PTX: whole numbers wrap, shift beyond their width and divide as PTX says") {
  CHECK(of_integers("add.s32", "2147483647, 1") == 0x80000000u);
  CHECK(of_integers("mul.lo.s32", "65536, 65537") == 65536);
  CHECK(of_integers("mul.hi.u32", "-1, -1") == 0xfffffffeu);
  CHECK(of_integers("mul.hi.s32", "-1, -1") == 0);
  CHECK(of_integers("div.s32", "-7, 2") == u32(-3));
  CHECK(of_integers("rem.s32", "-7, 2") == u32(-1));
  CHECK(of_integers("div.s32", "-2147483648, -1") == 0x80000000u);
  CHECK(of_integers("shl.b32", "1, 32") == 0);
  CHECK(of_integers("shr.u32", "-1, 33") == 0);
  CHECK(of_integers("shr.s32", "-8, 1") == u32(-4));
  CHECK(of_integers("shr.s32", "-8, 40") == u32(-1));
  CHECK(of_integers("bfi.b32", "5, 0, 4, 3") == 0x50);
  CHECK(of_integers("bfi.b32", "0, -1, 30, 9") == 0x3fffffffu);
  CHECK(results("mul.wide.s32 %rd3, -2, 3; st.global.u64 [%rd1], %rd3;")[0] == u64(-6));
  CHECK(results("mul.wide.u32 %rd3, -2, 3; st.global.u64 [%rd1], %rd3;")[0] == 0x2fffffffaull);
}

TEST_CASE("PTX: f32 rounds once, to nearest even or as its name says") {
  const f32 above = std::nextafter(1.0f, 2.0f);
  CHECK(of_floats("fma.rn.f32", {above, above, -std::nextafter(above, 2.0f)}) == 0x1p-46f);
  CHECK(of_floats("add.f32", {1, 0x1p-24f}) == 1);
  CHECK(of_floats("add.f32", {above, 0x1p-24f}) == std::nextafter(above, 2.0f));
  CHECK(of_floats("fma.rn.f32", {1, 1, -0x1p-30f}) == 1);
  CHECK(of_floats("fma.rm.f32", {1, 1, -0x1p-30f}) == std::nextafter(1.0f, 0.0f));
  CHECK(of_floats("mul.f32", {0x1p-100f, 0x1p-40f}) == 0x1p-140f);  // a subnormal stays
  CHECK(of_floats("max.f32", {nan, 3}) == 3);
  CHECK(of_floats("min.f32", {-2, nan}) == -2);
  CHECK(std::isnan(of_floats("max.f32", {nan, nan})));
  CHECK(of_floats("cvt.sat.f32.f32", {nan}) == 0);
  CHECK(of_floats("cvt.sat.f32.f32", {7}) == 1);
}

TEST_CASE("PTX: approximations keep the error that the manual allows") {
  for (const f32 x : {-140.0f, -126.5f, -1.5f, -0.1f, 0.3f, 1.0f, 17.7f, 127.9f}) {
    INFO("x ", x);
    CHECK(std::fabs(of_floats("ex2.approx.f32", {x}) / std::exp2(f64(x)) - 1) <= (x < -126 ? 1 : 0x1p-22));
    const f32 size = std::fabs(x);
    CHECK(std::fabs(of_floats("rsqrt.approx.f32", {size}) * std::sqrt(f64(size)) - 1) <= 0x1p-22);
  }
  CHECK(of_floats("ex2.approx.f32", {0}) == 1);
  CHECK(of_floats("ex2.approx.f32", {-140}) == 0x1p-140f);
  CHECK(of_floats("ex2.approx.ftz.f32", {-140}) == 0);
  CHECK(of_floats("ex2.approx.ftz.f32", {0x1p-140f}) == 1);
  CHECK(of_floats("ex2.approx.f32", {-infinity}) == 0);
  CHECK(of_floats("rsqrt.approx.f32", {0}) == infinity);
  CHECK(std::isnan(of_floats("rsqrt.approx.f32", {-1})));
}

TEST_CASE("PTX: approximations are as far off as the error allows, on both sides") {
  const auto check = [](const char* opcode, int ulps, f64 (*exact)(f64)) {
    int above = 0;
    for (f32 x = 0.51f; x < 8; x += 0.37f) {
      INFO(opcode, " ", x);
      const f64 want = exact(x), ulp = std::ldexp(1.0, std::ilogb(want) - 23), error = of_floats(opcode, {x}) - want;
      CHECK(std::fabs(error) <= ulps * ulp);
      CHECK(std::fabs(error) >= (ulps - 1) * ulp);
      above += error > 0;
    }
    CHECK(above > 4);
    CHECK(above < 16);
  };
  check("ex2.approx.f32", 2, [](f64 x) { return std::exp2(x); });
  check("rsqrt.approx.f32", 2, [](f64 x) { return 1 / std::sqrt(x); });
  check("rcp.approx.f32", 1, [](f64 x) { return 1 / x; });
}

TEST_CASE("PTX: a NaN makes every comparison false, or with a u every one true") {
  const auto compare = [](const char* how, f32 a, f32 b) {
    return result<u32>(std::string("setp.") + how + ".f32 %p1, " + literal(a) + ", " + literal(b) +
                       "; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%rd1], %r1;") == 1;
  };
  for (const char* how : {"eq", "ne", "lt", "le", "gt", "ge", "num"}) CHECK_MESSAGE(!compare(how, 1, nan), how);
  for (const char* how : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"}) CHECK_MESSAGE(compare(how, nan, 1), how);
  CHECK(compare("lt", 1, 2));
  CHECK(!compare("ltu", 2, 1));
  CHECK(compare("ne", 1, 2));
  CHECK(!compare("neu", 1, 1));
  CHECK(compare("num", 1, 2));
  CHECK(!compare("nan", 1, 2));
}

TEST_CASE("PTX: bf16 and f16 round to nearest even, and of two the first is the upper half") {
  for (u32 bits = 0; bits < 0x10000; ++bits) {
    if (!std::isnan(from_bf16(u16(bits)))) REQUIRE(to_bf16(from_bf16(u16(bits))) == bits);
    if (!std::isnan(from_f16(u16(bits)))) REQUIRE(to_f16(from_f16(u16(bits))) == bits);
  }
  CHECK(to_bf16(1 + 0x1p-8f) == 0x3f80);  // half a step: to the even one
  CHECK(to_bf16(1 + 0x1p-7f + 0x1p-8f) == 0x3f82);
  CHECK(to_bf16(nan) == 0x7fff);
  CHECK(to_f16(1 + 0x1p-11f) == 0x3c00);
  CHECK(to_f16(1 + 0x1p-10f + 0x1p-11f) == 0x3c02);
  CHECK(to_f16(2047.5f) == 0x6800);  // 2048
  CHECK(to_f16(65519) == 0x7bff);
  CHECK(to_f16(65520) == 0x7c00);
  CHECK(to_f16(-0x1p-25f) == 0x8000);
  CHECK(to_f16(0x1.8p-25f) == 1);
  CHECK(from_f16(0x3555) == 0x1.554p-2f);
  CHECK(result<u32>("cvt.rn.bf16x2.f32 %r1, 0f3F800000, 0f40000000; st.global.u32 [%rd1], %r1;") == 0x3f804000u);
}

TEST_CASE("PTX: conversions cut, clamp and extend") {
  CHECK(of_integers("cvt.rzi.s32.f32", literal(-2.9f)) == u32(-2));
  CHECK(of_integers("cvt.rzi.s32.f32", literal(3e9f)) == 2147483647u);
  CHECK(of_integers("cvt.rzi.s32.f32", literal(nan)) == 0);
  CHECK(of_integers("cvt.s32.s8", "511") == u32(-1));
  CHECK(of_integers("cvt.u32.u16", "-1") == 0xffff);
  CHECK(result<f32>("cvt.rn.f32.s32 %f0, 16777217; st.global.f32 [%rd1], %f0;") == 16777216);
  CHECK(result<u32>("ld.global.s8 %r1, [%rd2+1]; st.global.u32 [%rd1], %r1;", {0x8000}) == u32(-128));
  CHECK(result<u32>("ld.global.u8 %r1, [%rd2+1]; st.global.u32 [%rd1], %r1;", {0x8000}) == 128);
  CHECK(results("mov.b64 {%r1, %r2}, 4294967298; mov.b64 %rd3, {%r1, %r2}; st.global.v2.u32 [%rd1], {%r2, %r1};")[0] ==
        0x2'0000'0001ull);
}

TEST_CASE("PTX: what was never written is a NaN, in registers, shared and device memory") {
  CHECK(std::isnan(result<f32>("st.global.f32 [%rd1], %f9;")));
  CHECK(std::isnan(result<f32>("ld.shared.f32 %f0, [tile+8]; st.global.f32 [%rd1], %f0;")));
  CHECK(std::isnan(result<f32>("ld.global.f32 %f0, [%rd1]; st.global.f32 [%rd1], %f0;")));
}

TEST_CASE("PTX: guards choose threads, and loops end") {
  const auto all = results(R"(
      mov.u32 %r1, 0;
      setp.eq.u32 %p1, %r0, 0;
    $again:
      add.s32 %r1, %r1, 2;
      setp.lt.u32 %p2, %r1, %r0;
      @%p2 bra $again;
      @!%p1 st.global.u32 [%rd1], %r1;)",
                           {}, 40);
  CHECK(u32(all[0]) == ~0u);
  CHECK(u32(all[1]) == 2);
  CHECK(u32(all[39]) == 40);
}

/// Each lane's number, shuffled, and 100 more where the source was inside.
static std::vector<u64> shuffled(const std::string& how, const std::string& b, const std::string& c) {
  return results("shfl.sync." + how + ".b32 %r1|%p1, %r0, " + b + ", " + c + ", -1; @%p1 add.s32 %r1, %r1, 100;" +
                     "st.global.u32 [%rd1], %r1;",
                 {}, 32);
}

TEST_CASE("PTX: a shuffle beyond the ends of its segment gives a lane its own") {
  const auto up = shuffled("up", "2", "0"), down = shuffled("down", "2", "31"), bfly = shuffled("bfly", "16", "31"),
             idx = shuffled("idx", "5", "31"), segments = shuffled("down", "1", "6175");  // 0x181f: of 8 lanes
  CHECK(u32(up[1]) == 1);
  CHECK(u32(up[2]) == 100);
  CHECK(u32(down[29]) == 131);
  CHECK(u32(down[30]) == 30);
  CHECK(u32(bfly[3]) == 119);
  CHECK(u32(bfly[19]) == 103);
  CHECK(u32(idx[31]) == 105);
  CHECK(u32(segments[6]) == 107);
  CHECK(u32(segments[7]) == 7);
  CHECK(u32(segments[8]) == 109);
}

TEST_CASE("PTX: an atomic sum gives each thread what was there before it") {
  const auto all = results(R"(
      st.shared.u32 [tile], 0;
      bar.sync 0;
      atom.shared.add.u32 %r1, [tile], 3;
      bar.sync 0;
      ld.shared.u32 %r2, [tile];
      st.global.v2.u32 [%rd1], {%r1, %r2};)",
                           {}, 64);
  u64 before = 0;
  for (const u64 one : all) {
    CHECK((one >> 32) == 192);
    before += u32(one);
  }
  CHECK(before == 3 * 63 * 64 / 2);
}

TEST_CASE("PTX: a counter that wraps goes up to its bound and to 0 then, and a fence changes nothing") {
  const std::string begin = "st.global.u32 [%rd2], ", step = "; membar.gl; atom.global.inc.u32 %r1, [%rd2], 2; ";
  const std::string end = "fence.acq_rel.gpu; ld.global.u32 %r2, [%rd2]; st.global.v2.u32 [%rd1], {%r1, %r2};";
  CHECK(results(begin + "0" + step + end, {0})[0] == 0x1'0000'0000ull);
  CHECK(results(begin + "1" + step + end, {0})[0] == 0x2'0000'0001ull);
  CHECK(results(begin + "2" + step + end, {0})[0] == 2);
  CHECK(results(begin + "7" + step + end, {0})[0] == 7);
}

TEST_CASE("PTX: griddepcontrol changes nothing where the kernels before have ended") {
  CHECK(result<u32>(
            "mov.u32 %r1, 5; griddepcontrol.launch_dependents; griddepcontrol.wait; st.global.u32 [%rd1], %r1;") == 5);
}

TEST_CASE("PTX: a copy is there after the wait for its group and not before") {
  const std::string begin = R"(
      cp.async.cg.shared.global [tile], [%rd2], 16, 12;
      cp.async.commit_group;
      cp.async.cg.shared.global [tile+16], [%rd2], 16;
      cp.async.commit_group;)";
  const std::vector<u64> input = {0x2'0000'0001, 0x4'0000'0003};
  const auto word = [&](const char* wait, int offset) {
    return result<u32>(
        begin + wait + "ld.shared.u32 %r1, [tile+" + std::to_string(offset) + "]; st.global.u32 [%rd1], %r1;", input);
  };
  CHECK(word("", 0) == ~0u);
  CHECK(word("cp.async.wait_group 2;", 0) == ~0u);
  CHECK(word("cp.async.wait_group 1;", 8) == 3);
  CHECK(word("cp.async.wait_group 1;", 12) == 0);  // beyond the 12 bytes that are read
  CHECK(word("cp.async.wait_group 1;", 16) == ~0u);
  CHECK(word("cp.async.wait_group 0;", 28) == 4);
}

TEST_CASE("PTX: ldmatrix gives each lane two neighbours of a row, or with .trans of a column") {
  // tile: 8 x 8 numbers of 16 bits, row by row, each 8 · row + column.
  const auto load = [](const std::string& which) {
    return results(R"(
      mul.lo.s32 %r1, %r0, 131074;
      add.s32 %r1, %r1, 65536;
      mov.u32 %r2, tile;
      shl.b32 %r3, %r0, 2;
      add.s32 %r3, %r3, %r2;
      st.shared.u32 [%r3], %r1;
      bar.sync 0;
      shl.b32 %r4, %r0, 4;
      add.s32 %r4, %r4, %r2;
      ldmatrix.sync.aligned.m8n8.x1)" +
                       which + R"(.shared.b16 {%r5}, [%r4];
      st.global.u32 [%rd1], %r5;)",
                   {}, 32);
  };
  const auto rows = load(""), columns = load(".trans");
  CHECK(u32(rows[13]) == (27u << 16 | 26));     // row 3, columns 2 and 3
  CHECK(u32(columns[13]) == (27u << 16 | 19));  // rows 2 and 3, column 3
}

TEST_CASE("PTX: mma takes and leaves its elements where the manual has them") {
  // a(9, 2) = 3: lane 5, register 1, lower half; b(2, 4) = 5: lane 17, register 0, lower half; so d(9, 4) is 15 + 0.5.
  const auto all = results(R"(
      setp.eq.u32 %p1, %r0, 5;
      selp.b32 %r1, 16448, 0, %p1;
      setp.eq.u32 %p2, %r0, 17;
      selp.b32 %r2, 16544, 0, %p2;
      mov.f32 %f1, 0f3F000000;
      mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f4, %f5, %f6, %f7}, {0, %r1, 0, 0}, {%r2, 0}, {%f1, %f1, %f1, %f1};
      st.global.v2.f32 [%rd1], {%f6, %f7};)",
                           {}, 32);
  for (u32 lane = 0; lane < 32; ++lane) {
    CAPTURE(lane);
    CHECK(std::bit_cast<f32>(u32(all[lane])) == (lane == 6 ? 15.5f : 0.5f));
    CHECK(std::bit_cast<f32>(u32(all[lane] >> 32)) == 0.5f);
  }
}

TEST_CASE("PTX: a box arrives swizzled, with zeros for what lies outside of its tensor, and the barrier waits for it") {
  const Allocation tensor(16 * 128);  // 16 x 64 numbers of 16 bits, each 64 · row + column
  for (u32 n = 0; n < 16 * 64; ++n) std::memcpy(tensor.memory + 2 * n, &n, 2);
  const TensorMap map{u64(tensor.memory), 2, {64, 8}, {64, 16}, {2, 128}};
  std::vector<u64> words(sizeof map / 8);
  std::memcpy(words.data(), &map, sizeof map);
  const auto at = [&](int offset) {  // in the tile: rows 12 to 19
    return result<u32>(R"(
      .shared .align 8 .b8 barrier[8];
      mbarrier.init.shared::cta.b64 [barrier], 1;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 1024;
      cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd2, {0, 12}], [barrier];
      mbarrier.try_wait.parity.shared::cta.b64 %p1, [barrier], 0;
      ld.shared.u16 %r1, [tile+)" +
                           std::to_string(offset) + R"(];
      st.global.u32 [%rd1], %r1;)",
                       words);
  };
  CHECK(at(0) == 12 * 64);
  CHECK(at(128 + 16) == 13 * 64);  // line 1: 16 bytes to the right
  CHECK(at(128) == 13 * 64 + 8);   // where columns 8 to 15 would be
  CHECK(at(384 + 48 + 2) == 15 * 64 + 1);
  CHECK(at(512) == 0);  // row 16
}

TEST_SUITE_END();

}  // namespace rungs::ptx
