#include "kernels/emulator/language/tensor_core.hpp"

#include <cstring>

#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/language/half.hpp"
#include "kernels/emulator/language/math.hpp"
#include "kernels/emulator/language/warp.hpp"

namespace rungs::emulator {
namespace {

constexpr unsigned all_lanes = 0xffffffffu;

template <Factors factors>
float upcast(uint32_t bits) {
  return factors == Factors::bf16 ? Bfloat16Format::upcast(uint16_t(bits)) : HalfFormat::upcast(uint16_t(bits));
}

/// c (16, n) += a (16, 16) · b (16, n). They do not overlap, which lets the compiler use vectors.
template <int n>
void multiply_add(float (&__restrict c)[16][n], const float (&a)[16][16], const float (&__restrict b)[16][n]) {
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < n; ++j) c[i][j] += a[i][k] * b[k][j];
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
  float a[16][16], b[16][8], c[16][8];
  for (int l = 0; l < 32; ++l) {
    const auto& lane = *static_cast<const Fragments*>(operands[l]);
    const int g = l / 4, t = l % 4;
    for (int i = 0; i < 8; ++i)  // element i is in half i % 2 of register i / 2
      a[g + i / 2 % 2 * 8][2 * t + i % 2 + i / 4 * 8] = upcast<factors>(lane.a[i / 2] >> i % 2 * 16);
    for (int i = 0; i < 4; ++i) b[2 * t + i % 2 + i / 2 * 8][g] = upcast<factors>(lane.b[i / 2] >> i % 2 * 16);
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
  float a[16][16], b[16][16], c[16][16];
  for (int l = 0; l < 32; ++l) {
    const auto& lane = *static_cast<const Tiles*>(operands[l]);
    for (int i = 0; i < 8; ++i) {
      a[l / 2][l % 2 * 8 + i] = upcast<factors>(lane.a[i]);
      b[l / 2][l % 2 * 8 + i] = upcast<factors>(lane.b[i]);
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
