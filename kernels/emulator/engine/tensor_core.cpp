#include "kernels/emulator/language/tensor_core.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/emulator/engine/device.hpp"
#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/language/half.hpp"
#include "kernels/emulator/language/math.hpp"
#include "kernels/emulator/language/warp.hpp"

namespace rungs::emulator {
namespace {

constexpr unsigned all_lanes = 0xffffffffu;

// How tensor cores add. A group of products is added to the sum at once. The exponent of a product is the sum of those
// of its factors; the largest one, of the products and of the sum before, decides which bits take part: each addend is
// cut off toward zero so many bits behind the point, all are added without an error, and the result is cut off to f32.
//   Ampere, Ada        8 products of bf16 or f16, 24 bits: an mma.m16n8k16 rounds twice
//   Hopper, Blackwell  16 products, 25 bits
// NVIDIA documents none of it. Ampere: Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores",
// PeerJ Computer Science 7:e330 (2021). All of them: Xie, Wang and Yang, "MMA-Sim: bit-accurate reference model of
// tensor cores and matrix cores", arXiv 2511.10909 (2025), which agrees with the hardware on random matrices.
// Uncertain: the sign of a sum that is zero (here +0), and which NaN comes out of infinities and NaNs.

constexpr int no_exponent = -1000;     // of a factor that is zero: its products take no part
constexpr int not_finite = 10000;      // of an infinity and of NaN: products with zero are found too
constexpr int lowest_exponent = -126;  // of a bf16 or a float, also below 2⁻¹²⁶
constexpr int lowest_exponent_of_half = -14;

int exponent_of(float x, int lowest) {
  if (!std::isfinite(x)) return not_finite;
  return std::max(int(std::bit_cast<uint32_t>(x) >> 23 & 255) - 127, lowest);
}

/// 16 factors, which are a row of a or a column of b. In double, so that their products neither round nor overflow.
struct Line {
  double value[16];
  int16_t exponent[16];
};

template <Factors factors>
void set(Line& line, int k, uint32_t bits) {
  constexpr bool bf16 = factors == Factors::bf16;
  const float x = bf16 ? Bfloat16Format::upcast(uint16_t(bits)) : HalfFormat::upcast(uint16_t(bits));
  line.value[k] = x;
  line.exponent[k] = int16_t(x == 0 ? no_exponent : exponent_of(x, bf16 ? lowest_exponent : lowest_exponent_of_half));
}

double power_of_two(int exponent) { return std::bit_cast<double>(uint64_t(1023 + exponent) << 52); }

/// The nearest float that is not larger than x, both without their sign.
float toward_zero(double x) {
  const float nearest = float(x);
  if (std::fabs(double(nearest)) <= std::fabs(x) || std::fabs(x) >= 0x1p128) return nearest;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) - 1);
}

/// sum + the products begin to begin + group - 1 of a and b.
template <int group>
float add_products(float sum, const Line& a, const Line& b, int begin, int fraction_bits) {
  int largest = exponent_of(sum, lowest_exponent);
  for (int k = begin; k < begin + group; ++k) largest = std::max(largest, a.exponent[k] + b.exponent[k]);
  if (largest >= not_finite / 2) {
    double total = sum;
    for (int k = begin; k < begin + group; ++k) total += a.value[k] * b.value[k];
    return float(total);
  }
  // In units of the last bit that takes part. A product is below 4 · 2^largest, so it fits into an int32_t.
  const double scale = power_of_two(fraction_bits - largest);
  int64_t total = int32_t(double(sum) * scale);
  for (int k = begin; k < begin + group; ++k) total += int32_t(a.value[k] * b.value[k] * scale);
  return toward_zero(double(total) * power_of_two(largest - fraction_bits));
}

/// c (16, n) += a (16, 16) · b (16, n), of which b has the columns.
template <int n>
void multiply_add(float (&c)[16][n], const Line (&a)[16], const Line (&b)[n]) {
  const auto [products, bits] = std::pair(device().fused_products, device().fraction_bits);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < n; ++j)
      c[i][j] = products == 8 ? add_products<8>(add_products<8>(c[i][j], a[i], b[j], 0, bits), a[i], b[j], 8, bits)
                              : add_products<16>(c[i][j], a[i], b[j], 0, bits);
}

void require_full_warp(unsigned lanes) {
  if (lanes != all_lanes) fail("a matrix operation in a warp of fewer than 32 threads");
}

struct Rows {
  const void* row;
  uint32_t* registers;
};

/// Row i of matrix m begins where lane 8m + i says.
template <int matrices, bool transposed>
void load(void* const* operands, unsigned lanes) {
  require_full_warp(lanes);
  const auto lane = [&](int l) { return *static_cast<const Rows*>(operands[l]); };
  uint16_t matrix[8][8];
  for (int m = 0; m < matrices; ++m) {
    for (int i = 0; i < 8; ++i) std::memcpy(matrix[i], lane(8 * m + i).row, 16);
    for (int l = 0; l < 32; ++l) {
      const int i = l / 4, j = l % 4 * 2;
      const uint16_t low = transposed ? matrix[j][i] : matrix[i][j];
      const uint16_t high = transposed ? matrix[j + 1][i] : matrix[i][j + 1];
      lane(l).registers[m] = uint32_t(low) | uint32_t(high) << 16;
    }
  }
}

struct Fragments {
  float* sum;
  const uint32_t *a, *b;
};

template <Factors factors>
void multiply(void* const* operands, unsigned lanes) {
  require_full_warp(lanes);
  Line a[16], b[8];
  float c[16][8];
  for (int l = 0; l < 32; ++l) {
    const auto& lane = *static_cast<const Fragments*>(operands[l]);
    const int g = l / 4, t = l % 4;
    for (int i = 0; i < 8; ++i)  // element i is in half i % 2 of register i / 2
      set<factors>(a[g + i / 2 % 2 * 8], 2 * t + i % 2 + i / 4 * 8, lane.a[i / 2] >> i % 2 * 16);
    for (int i = 0; i < 4; ++i) set<factors>(b[g], 2 * t + i % 2 + i / 2 * 8, lane.b[i / 2] >> i % 2 * 16);
    for (int i = 0; i < 4; ++i) c[g + i / 2 * 8][2 * t + i % 2] = lane.sum[i];
  }
  multiply_add(c, a, b);
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < 4; ++i)
      static_cast<const Fragments*>(operands[l])->sum[i] = c[l / 4 + i / 2 * 8][2 * (l % 4) + i % 2];
}

struct Tiles {
  float* d;
  const uint16_t *a, *b;
  const float* c;
};

template <Factors factors>
void multiply_wmma(void* const* operands, unsigned lanes) {
  require_full_warp(lanes);
  Line a[16], b[16];
  float c[16][16];
  for (int l = 0; l < 32; ++l) {
    const auto& lane = *static_cast<const Tiles*>(operands[l]);
    for (int i = 0; i < 8; ++i) {
      set<factors>(a[l / 2], l % 2 * 8 + i, lane.a[i]);
      set<factors>(b[l % 2 * 8 + i], l / 2, lane.b[i]);
    }
    std::memcpy(&c[l / 2][l % 2 * 8], lane.c, 8 * sizeof(float));
  }
  multiply_add(c, a, b);
  for (int l = 0; l < 32; ++l)
    std::memcpy(static_cast<const Tiles*>(operands[l])->d, &c[l / 2][l % 2 * 8], 8 * sizeof(float));
}

}  // namespace

void load_matrices(uint32_t* registers, int matrices, const void* row, bool transposed, Site site) {
  if (thread_index() % 32 < 8 * matrices) {
    require_aligned(row, 16, "ldmatrix");
#ifdef RUNGS_CHECKED
    set_user_code(false);
    checked_access(uintptr_t(row), 16, false, __builtin_return_address(0));
#endif
  }
  Rows operands{row, registers};
  const WarpFunction function =
      matrices == 4 ? (transposed ? load<4, true> : load<4, false>) : (transposed ? load<2, true> : load<2, false>);
  warp_operation("ldmatrix", function, all_lanes, &operands, site);
}

void multiply_fragments(float* sum, const uint32_t* a, const uint32_t* b, Factors factors, Site site) {
  Fragments operands{sum, a, b};
  warp_operation("mma.m16n8k16", factors == Factors::bf16 ? multiply<Factors::bf16> : multiply<Factors::half>,
                 all_lanes, &operands, site);
}

void multiply_tiles(float* d, const uint16_t* a, const uint16_t* b, const float* c, Factors factors, Site site) {
  Tiles operands{d, a, b, c};
  warp_operation("wmma::mma_sync",
                 factors == Factors::bf16 ? multiply_wmma<Factors::bf16> : multiply_wmma<Factors::half>, all_lanes,
                 &operands, site);
}

}  // namespace rungs::emulator
