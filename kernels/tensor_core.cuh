/// Tensor cores and asynchronous copies: the only PTX that kernels use, each instruction in a function of its own. On
/// the CPU the functions do what the PTX manual says of each lane, so the indexing around them is tested without a GPU.
///
/// Fragments of mma.m16n8k16, a of 16 x 16, b of 16 x 8 and the sums of 16 x 8, in lane l with g = l / 4 and t = l % 4:
///   a[0] (g, 2t), (g, 2t + 1)   a[1] the same of row g + 8   a[2] of column 2t + 8   a[3] of row g + 8, column 2t + 8
///   b[0] (2t, g), (2t + 1, g)   b[1] the same of row 2t + 8
///   sum[0] (g, 2t)   sum[1] (g, 2t + 1)   sum[2] and sum[3] the same of row g + 8
#pragma once

#include <cstdint>

#include "kernels/launch.cuh"

#ifdef RUNGS_CUDA_ON_CPU
#include "kernels/emulator/engine/async_copy.hpp"
#include "kernels/emulator/language/tensor_core.hpp"
#endif

namespace rungs {

/// Four 8 x 8 matrices of 16-bit elements from shared memory. Lane l gives the address of row l % 8 of matrix l / 8, 16
/// bytes, aligned to 16; register i of lane l gets elements (l / 4, l % 4 · 2) and the next of matrix i.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&registers)[4], const void* row) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(uint32_t(__cvta_generic_to_shared(row)))
               : "memory");
#else
  emulator::load_matrices(registers, 4, row, false);
#endif
}

/// The same, each matrix transposed: register i of lane l gets elements (l % 4 · 2, l / 4) and the one below.
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&registers)[4], const void* row) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(uint32_t(__cvta_generic_to_shared(row)))
               : "memory");
#else
  emulator::load_matrices(registers, 4, row, true);
#endif
}

/// sum (16, 8) += a (16, 16) · b (16, 8), bf16 factors, f32 sums.
__device__ __forceinline__ void mma_m16n8k16(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  emulator::multiply_fragments(sum, a, b, emulator::Factors::bf16);
#endif
}

/// Begins to copy 16 bytes to shared memory; both addresses are multiples of 16. Only the first `bytes_valid` are read,
/// the others become zeros. Nobody may touch the destination until this thread has waited, and others not until a
/// barrier after that.
__device__ __forceinline__ void cp_async_16(void* shared, const void* source, int bytes_valid = 16) {
#ifdef __CUDACC__
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(uint32_t(__cvta_generic_to_shared(shared))),
               "l"(__cvta_generic_to_global(source)), "r"(bytes_valid)
               : "memory");
#else
  emulator::async_copy(shared, source, 16, size_t(bytes_valid));
#endif
}

/// Closes this thread's group of copies, which may be empty.
__device__ __forceinline__ void cp_async_commit() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulator::async_commit();
#endif
}

/// Waits for this thread's groups, all but the youngest `may_stay`.
template <int may_stay>
__device__ __forceinline__ void cp_async_wait() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(may_stay) : "memory");
#else
  emulator::async_wait(may_stay);
#endif
}

}  // namespace rungs
