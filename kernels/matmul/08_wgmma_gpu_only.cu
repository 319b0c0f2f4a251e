/// Rung 8, only for GPUs of compute capability 9.0: the tensor cores read their factors from shared memory themselves
/// (wgmma), and a copy engine brings whole tiles there, swizzled as the tensor cores want them (TMA). One thread issues
/// the copies, two warp groups multiply; they meet at barriers in shared memory (mbarrier) that count arrivals and
/// arrived bytes. The host cannot run this; matmul_07 is its portable twin. Names in quotes are those of the PTX
/// manual.
#include <cuda.h>

#include <algorithm>
#include <string>

#include "kernels/launch.cuh"
#include "kernels/matmul/bf16_rows.cuh"
#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/tile_order.cuh"
#include "rungs/base/error.hpp"

namespace rungs {

namespace {

constexpr int tile_m = 128, tile_n = 256, depth = 64, stages = 4;
constexpr int group_m = 64;                           // rows of c that a warp group of 128 threads computes
constexpr int consumer_warps = tile_m / group_m * 4;  // the warp after them is the producer
constexpr uint32_t row_bytes = depth * sizeof(bf16);  // 128, as long as the swizzle's pattern is wide
constexpr uint32_t a_bytes = tile_m * row_bytes, stage_bytes = (tile_m + tile_n) * row_bytes;
constexpr uint32_t pattern_bytes = 8 * row_bytes;  // the swizzle repeats every 8 rows: tiles begin at multiples

/// \name Barriers in shared memory, by their 32-bit shared address
/// A barrier counts phases. A phase ends when as many have arrived as it was made for and all expected bytes have; then
/// the next begins. Who waits gives the parity of the phase that must have ended: 0 for the first, 1 for the second, 0
/// for the third, ... Before the first has ended, parity 1 counts as ended.
///@{
__device__ void make_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// After this and a __syncthreads the new barriers exist for all threads and for the copy engine ("async proxy").
__device__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives and says that the copy engine is going to bring `bytes` in this phase.
__device__ void arrive_expecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  uint32_t ended = 0;
  while (!ended)  // "try_wait" sleeps for a while itself
    asm volatile(
        "{\n"
        ".reg .pred ended;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
        "selp.u32 %0, 1, 0, ended;\n"
        "}"
        : "=r"(ended)
        : "r"(barrier), "r"(parity)
        : "memory");
}
///@}

/// \name The copy engine
/// Copies the box of the tensor map that begins at these coordinates, innermost first, to shared memory; what lies
/// outside the tensor arrives as zeros and counts as bytes all the same. The barrier learns of the bytes.
///@{
__device__ void copy_box(uint32_t shared, const CUtensorMap& map, int x, int y, int z, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}
__device__ void copy_box(uint32_t shared, const CUtensorMap& map, int x, int y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}
///@}

/// \name The tensor cores
/// Multiplications run on their own, group by group, like asynchronous copies.
///@{

/// The "matrix descriptor" of rows of 64 bf16 in shared memory in the swizzle of 128 bytes, from a column that is a
/// multiple of 16 on. Bits 0-13: address / 16. 16-29: not used in this layout, 1. 32-45: from 8 rows to the next 8,
/// / 16. 49-51: 0, because the pattern begins at a multiple of its 1024 bytes. 62-63: 1 means 128 bytes.
__device__ uint64_t matrix_at(uint32_t shared) {
  return uint64_t(shared >> 4 & 0x3fff) | uint64_t(1) << 16 | uint64_t(pattern_bytes >> 4) << 32 | uint64_t(1) << 62;
}

/// Before the first multiplication and whenever `sum` was touched by other instructions.
__device__ void begin_multiplying() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// sum (64, 256) += a (64, 16) · b (256, 16)ᵀ, by the 128 threads of a warp group. Thread t holds, for j from 0 to 31:
/// sum[4j], sum[4j + 1]: row t / 32 · 16 + t % 32 / 4, columns 8j + t % 4 · 2 and the next; sum[4j + 2], sum[4j + 3]:
/// the same 8 rows below. The last operands: add to the sum; neither factor negated; neither transposed.
__device__ void multiply(float (&sum)[128], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, add, 1, 1, 0, 0;\n"
      "}"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7]),
        "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]),
        "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]),
        "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]),
        "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]), "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]),
        "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]),
        "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]), "+f"(sum[49]),
        "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]), "+f"(sum[56]),
        "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63]),
        "+f"(sum[64]), "+f"(sum[65]), "+f"(sum[66]), "+f"(sum[67]), "+f"(sum[68]), "+f"(sum[69]), "+f"(sum[70]),
        "+f"(sum[71]), "+f"(sum[72]), "+f"(sum[73]), "+f"(sum[74]), "+f"(sum[75]), "+f"(sum[76]), "+f"(sum[77]),
        "+f"(sum[78]), "+f"(sum[79]), "+f"(sum[80]), "+f"(sum[81]), "+f"(sum[82]), "+f"(sum[83]), "+f"(sum[84]),
        "+f"(sum[85]), "+f"(sum[86]), "+f"(sum[87]), "+f"(sum[88]), "+f"(sum[89]), "+f"(sum[90]), "+f"(sum[91]),
        "+f"(sum[92]), "+f"(sum[93]), "+f"(sum[94]), "+f"(sum[95]), "+f"(sum[96]), "+f"(sum[97]), "+f"(sum[98]),
        "+f"(sum[99]), "+f"(sum[100]), "+f"(sum[101]), "+f"(sum[102]), "+f"(sum[103]), "+f"(sum[104]), "+f"(sum[105]),
        "+f"(sum[106]), "+f"(sum[107]), "+f"(sum[108]), "+f"(sum[109]), "+f"(sum[110]), "+f"(sum[111]), "+f"(sum[112]),
        "+f"(sum[113]), "+f"(sum[114]), "+f"(sum[115]), "+f"(sum[116]), "+f"(sum[117]), "+f"(sum[118]), "+f"(sum[119]),
        "+f"(sum[120]), "+f"(sum[121]), "+f"(sum[122]), "+f"(sum[123]), "+f"(sum[124]), "+f"(sum[125]), "+f"(sum[126]),
        "+f"(sum[127])
      : "l"(a), "l"(b), "r"(1));
}

/// Ends a group of multiplications, and waits until at most `left` groups are still at work: the factors of those
/// before may be overwritten, and once none is left, the sums be used.
template <int left>
__device__ void end_group_and_wait(float (&sum)[128]) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
  for (float& x : sum) asm volatile("" : "+f"(x)::"memory");  // the compiler, too, has to wait before it uses a sum
}
///@}

}  // namespace

/// c: (M, N); a_map: boxes of (tile_m, 1, depth) of a (M, parts, K); b_map: boxes of (tile_n, depth) of b (N, K). Each
/// block takes tile after tile of c, `gridDim.x` apart; the producer runs ahead into the next while this one is stored.
__global__ void __launch_bounds__((consumer_warps + 1) * 32, 1)
    matmul_wgmma(float* c, const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, int M,
                 int N, int K, int parts) {
  __shared__ __align__(8) uint64_t full_barriers[stages], empty_barriers[stages];
  DYNAMIC_SHARED(unsigned char, memory);
  const auto address = [](const void* p) { return uint32_t(__cvta_generic_to_shared(p)); };
  const uint32_t ring = (address(memory) + pattern_bytes - 1) / pattern_bytes * pattern_bytes;  // stages: a, then b
  const auto full = [&](int stage) { return address(&full_barriers[stage]); };
  const auto empty = [&](int stage) { return address(&empty_barriers[stage]); };
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;

  if (thread == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      make_barrier(full(stage), 1);                // the producer, and the bytes that it expects
      make_barrier(empty(stage), consumer_warps);  // a lane of each warp that has read it
    }
    publish_barriers();
  }
  __syncthreads();

  const int rows_of_tiles = (M + tile_m - 1) / tile_m, columns_of_tiles = (N + tile_n - 1) / tile_n;
  const int tiles = rows_of_tiles * columns_of_tiles;
  const int steps_per_part = (K + depth - 1) / depth, steps = parts * steps_per_part;
  int stage = 0;
  uint32_t parity = 0;  // of the phase of this stage's barriers: 0 in the first round of the ring, 1 in the second, ...
  const auto next_stage = [&] {
    if (++stage == stages) stage = 0, parity ^= 1;
  };

  if (warp == consumer_warps) {  // the producer
    if (lane != 0) return;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const TilePlace place = tile_place(tile, rows_of_tiles, columns_of_tiles);
      const int m0 = place.m * tile_m, n0 = place.n * tile_n;
      for (int step = 0; step < steps; ++step, next_stage()) {
        const int part = step / steps_per_part, k0 = step % steps_per_part * depth;
        const uint32_t to = ring + stage * stage_bytes;
        wait(empty(stage), parity ^ 1);  // the round before; in the first round there is none, and this does not wait
        arrive_expecting(full(stage), stage_bytes);
        copy_box(to, a_map, k0, part, m0, full(stage));
        copy_box(to + a_bytes, b_map, k0, n0, full(stage));
      }
    }
    return;
  }

  const int group = warp / 4;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TilePlace place = tile_place(tile, rows_of_tiles, columns_of_tiles);
    const int m0 = place.m * tile_m, n0 = place.n * tile_n;
    float sum[tile_n / 2] = {};
    int before = 0;  // the stage of the step before
    for (int step = 0; step < steps; ++step, next_stage()) {
      const uint32_t a = ring + stage * stage_bytes + group * group_m * row_bytes;
      const uint32_t b = ring + stage * stage_bytes + a_bytes;
      wait(full(stage), parity);
      begin_multiplying();
      for (uint32_t k = 0; k < row_bytes; k += 32)  // 16 columns
        multiply(sum, matrix_at(a + k), matrix_at(b + k));
      end_group_and_wait<1>(sum);
      if (step > 0 && lane == 0) arrive(empty(before));  // those of the step before are done
      before = stage;
    }
    end_group_and_wait<0>(sum);
    if (lane == 0) arrive(empty(before));

    const int m = m0 + warp * 16 + lane / 4;
    for (int j = 0; j < tile_n / 8; ++j)
      for (int half = 0; half < 2; ++half) {
        const int row = m + half * 8, n = n0 + j * 8 + lane % 4 * 2;
        if (row >= M || n >= N) continue;
        float* const out = c + size_t(row) * N + n;
        if (N % 2 == 0)  // the launcher has seen to it that c begins at a multiple of 8 bytes
          *reinterpret_cast<float2*>(out) = make_float2(sum[4 * j + 2 * half], sum[4 * j + 2 * half + 1]);
        else {
          out[0] = sum[4 * j + 2 * half];
          if (n + 1 < N) out[1] = sum[4 * j + 2 * half + 1];
        }
      }
  }
}

namespace {

/// Describes a bf16 tensor of `rank` dimensions, innermost first, to the copy engine, which brings boxes of it. The
/// function is the driver's, and asked for by name, so that programs need not be linked with the driver's library.
template <int rank>
CUtensorMap tensor_map(const bf16* data, const cuuint64_t (&size)[rank], const cuuint32_t (&box)[rank]) {
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
#else
    CUDA_CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
#endif
    if (found != cudaDriverEntryPointSuccess || function == nullptr)
      throw CudaError("the driver has no cuTensorMapEncodeTiled: matmul_08 needs the driver of CUDA 12 or newer");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  }();
  cuuint64_t stride[rank - 1];  // in bytes, of all dimensions but the innermost
  cuuint64_t bytes = sizeof(bf16);
  for (int i = 0; i + 1 < rank; ++i) stride[i] = bytes *= size[i];
  cuuint32_t every[rank];  // element of the box is taken: all
  for (cuuint32_t& one : every) one = 1;
  CUtensorMap map;
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank, const_cast<bf16*>(data), size, stride,
                                 box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) throw CudaError("cuTensorMapEncodeTiled: error " + std::to_string(int(result)));
  return map;
}

}  // namespace

bool matmul_08_runs_here() {
  return attribute_of_device(cudaDevAttrComputeCapabilityMajor) == 9 &&
         attribute_of_device(cudaDevAttrComputeCapabilityMinor) == 0;
}

void matmul_08(float* c, const bf16* a, const bf16* b, int M, int N, int K, int parts, cudaStream_t stream) {
  if (M == 0 || N == 0) return;
  // The copy engine takes rows that begin at multiples of 16 bytes.
  if (K == 0 || K % 8 != 0 || !aligned_to(8, a, b) || !aligned_to(2, c))
    return matmul_07(c, a, b, M, N, K, parts, stream);
  const auto size = [](int n) { return cuuint64_t(n); };
  const CUtensorMap a_map = tensor_map<3>(a, {size(K), size(parts), size(M)}, {depth, 1, tile_m});
  const CUtensorMap b_map = tensor_map<2>(b, {size(K), size(N)}, {depth, tile_n});
  const int tiles = ceil_div(M, tile_m) * ceil_div(N, tile_n);
  const int blocks = std::min(tiles, attribute_of_device(cudaDevAttrMultiProcessorCount));
  constexpr size_t bytes = stages * stage_bytes + pattern_bytes;  // room to begin at a multiple of the pattern
  launch(matmul_wgmma, {blocks, (consumer_warps + 1) * 32, bytes, stream}, c, a_map, b_map, M, N, K, parts);
}

}  // namespace rungs
