// What the 32 lanes of a warp compute together on matrices.
#include <fmt/format.h>

#include "capability.hpp"
#include "conversions.hpp"
#include "fault.hpp"
#include "memory.hpp"
#include "sums.hpp"
#include "table.hpp"

namespace rungs::ptx {
namespace {

void need_all(u32 taking_part) {
  if (taking_part != ~0u) throw Fault("an instruction of the tensor cores without all 32 lanes");
}

/// The lower or the upper bf16 of a register.
f32 half_of(const Thread& lane, u32 slot, u32 upper) { return from_bf16(u16(get<u32>(lane, slot) >> (16 * upper))); }

Adder adder() { return compute_capability() == 9 ? hopper : ampere; }

/// ldmatrix {d...}, [a]: slots d..., a. Lane l holds the address of row l % 8 of matrix l / 8.
template <u32 matrices, bool transposed>
void load_matrices(Thread* lanes, u32 taking_part, const Instruction& i) {
  need_all(taking_part);
  for (u32 matrix = 0; matrix < matrices; ++matrix) {
    u16 element[8][8];
    for (u32 row = 0; row < 8; ++row) {
      const Thread& lane = lanes[matrix * 8 + row];
      std::memcpy(element[row], find(lane, Space::shared, lane.registers[i.slot[matrices]] + u64(i.offset[0]), 16), 16);
    }
    for (u32 lane = 0; lane < 32; ++lane) {
      const u32 row = lane / 4, column = lane % 4 * 2;
      const u16 lower = transposed ? element[column][row] : element[row][column];
      const u16 upper = transposed ? element[column + 1][row] : element[row][column + 1];
      set<u32>(lanes[lane], i.slot[matrix], u32(upper) << 16 | lower);
    }
  }
}

/// mma.m16n8k16 {d0..d3}, {a0..a3}, {b0, b1}, {c0..c3}. Who holds which element: PTX ISA 9.0, 9.7.14.5.8.
void multiply_m16n8k16(Thread* lanes, u32 taking_part, const Instruction& i) {
  need_all(taking_part);
  const u32 *d = i.slot, *a = d + 4, *b = a + 4, *c = b + 2;
  Factors A[16], B[8];  // B: column first
  f32 C[16][8];
  for (u32 lane = 0; lane < 32; ++lane) {
    const u32 group = lane / 4, pair = lane % 4 * 2;
    for (u32 n = 0; n < 2; ++n) {
      for (u32 k : {0u, 8u}) {
        A[group].put(pair + k + n, half_of(lanes[lane], a[k / 4], n));
        A[group + 8].put(pair + k + n, half_of(lanes[lane], a[k / 4 + 1], n));
        B[group].put(pair + k + n, half_of(lanes[lane], b[k / 8], n));
      }
      C[group][pair + n] = get<f32>(lanes[lane], c[n]);
      C[group + 8][pair + n] = get<f32>(lanes[lane], c[2 + n]);
    }
  }
  for (u32 lane = 0; lane < 32; ++lane)
    for (u32 n = 0; n < 4; ++n) {
      const u32 row = lane / 4 + n / 2 * 8, column = lane % 4 * 2 + n % 2;
      set<f32>(lanes[lane], d[n], add_products(C[row][column], A[row], B[column], adder()));
    }
}

// The fragments of wmma are nobody's business but the GPU's. Here lane l holds elements 8 l to 8 l + 7 of a matrix of
// 16 x 16: of a and of the sums row by row, of b column by column.

/// Where element `n` of a lane's fragment lies, of a matrix whose lines begin `stride` elements apart.
template <class T>
u8* element(const Thread& lane, Space space, u64 base, u32 stride, u32 n) {
  if (base % 32 != 0) throw Fault("a matrix of wmma that begins at no multiple of 32 bytes");
  if (stride * sizeof(T) % 16 != 0) throw Fault("a matrix of wmma whose lines are no multiple of 16 bytes apart");
  const u32 at = lane.lane * 8 + n;
  return find(lane, space, base + u64(at / 16 * stride + at % 16) * sizeof(T), sizeof(T));
}

/// wmma.load {r0..r3}, [p], stride
template <Space space>
void load_fragment(Thread* lanes, u32 taking_part, const Instruction& i) {
  need_all(taking_part);
  for (u32 lane = 0; lane < 32; ++lane) {
    const u64 base = lanes[lane].registers[i.slot[4]] + u64(i.offset[0]);
    for (u32 n = 0; n < 4; ++n) {
      u16 half[2];
      for (u32 m = 0; m < 2; ++m)
        std::memcpy(&half[m], element<u16>(lanes[lane], space, base, get<u32>(lanes[lane], i.slot[5]), 2 * n + m), 2);
      set<u32>(lanes[lane], i.slot[n], u32(half[1]) << 16 | half[0]);
    }
  }
}

/// wmma.store [p], {r0..r7}, stride
template <Space space>
void store_sums(Thread* lanes, u32 taking_part, const Instruction& i) {
  need_all(taking_part);
  for (u32 lane = 0; lane < 32; ++lane) {
    const u64 base = lanes[lane].registers[i.slot[0]] + u64(i.offset[0]);
    for (u32 n = 0; n < 8; ++n)
      std::memcpy(element<f32>(lanes[lane], space, base, get<u32>(lanes[lane], i.slot[9]), n),
                  &lanes[lane].registers[i.slot[1 + n]], 4);
  }
}

/// wmma.mma {d0..d7}, {a0..a3}, {b0..b3}, {c0..c7}
void multiply_fragments(Thread* lanes, u32 taking_part, const Instruction& i) {
  need_all(taking_part);
  Factors A[16], B[16];  // B: column first
  for (u32 at = 0; at < 256; ++at) {
    A[at / 16].put(at % 16, half_of(lanes[at / 8], i.slot[8 + at % 8 / 2], at % 2));
    B[at / 16].put(at % 16, half_of(lanes[at / 8], i.slot[12 + at % 8 / 2], at % 2));
  }
  for (u32 at = 0; at < 256; ++at) {
    const f32 sum = get<f32>(lanes[at / 8], i.slot[16 + at % 8]);
    set<f32>(lanes[at / 8], i.slot[at % 8], add_products(sum, A[at / 16], B[at % 16], adder()));
  }
}

}  // namespace

void add_tensor_cores(Table& t) {
  const auto together = [&](const std::string& opcode, const char* manual, Together what) {
    t[opcode] = {manual, Flow::warp, nullptr, what};
  };
  together("ldmatrix.sync.aligned.m8n8.x1.shared.b16", "9.7.14.5.15", load_matrices<1, false>);
  together("ldmatrix.sync.aligned.m8n8.x2.shared.b16", "9.7.14.5.15", load_matrices<2, false>);
  together("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "9.7.14.5.15", load_matrices<4, false>);
  together("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", "9.7.14.5.15", load_matrices<1, true>);
  together("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "9.7.14.5.15", load_matrices<2, true>);
  together("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "9.7.14.5.15", load_matrices<4, true>);
  together("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "9.7.14.5.14", multiply_m16n8k16);
  together("wmma.load.a.sync.aligned.row.m16n16k16.bf16", "9.7.14.4.3", load_fragment<Space::generic>);
  together("wmma.load.b.sync.aligned.col.m16n16k16.bf16", "9.7.14.4.3", load_fragment<Space::generic>);
  together("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16", "9.7.14.4.3", load_fragment<Space::shared>);
  together("wmma.load.b.sync.aligned.col.m16n16k16.shared.bf16", "9.7.14.4.3", load_fragment<Space::shared>);
  together("wmma.store.d.sync.aligned.row.m16n16k16.f32", "9.7.14.4.4", store_sums<Space::generic>);
  together("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32", "9.7.14.4.4", store_sums<Space::shared>);
  together("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", "9.7.14.4.5", multiply_fragments);
}

}  // namespace rungs::ptx
