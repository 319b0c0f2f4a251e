/// Kernels that show what the host engine does, right ones and wrong ones.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/launch.cuh"

namespace rungs::test {

// blocks.cu
struct Place {
  uint3 thread, block;
  dim3 block_size, grid_size;
};
__global__ void write_places(Place* out);
__global__ void reverse_block(float* out, const float* x);  // static shared memory
template <class T>
__global__ void sum_dynamic(float* out, const T* x);  // dynamic shared memory, as many T as threads
__global__ void count_votes(int* out, int below);     // per thread: count, or, and of "my index is below"
__global__ void note_order(int* order, int* next);  // order[i]: the thread that came i-th, and the same after a barrier
__global__ void note_blocks(int* order, int* next);
__global__ void fresh_shared(float* static_out, float* dynamic_out);  // what nobody wrote
__global__ void leave_before_barrier(int stay);
__global__ void two_barriers(int first);
__global__ void barrier_and_shuffle();
__global__ void trap_in(int thread);
__global__ void throw_in(int thread);
struct Large {
  float at[100];
};
__global__ void sum_argument(float* out, Large large);

// warps.cu
__global__ void shuffle(int* out, const int* x, int kind, int parameter, int width);
template <class T>
__global__ void shuffle_down(T* out, const T* x);
__global__ void vote(unsigned* out, unsigned yes, unsigned mask);
__global__ void match(unsigned* out, const int* x);
__global__ void reduce(int* out, const int* x);
__global__ void shuffle_in_half(int* out);
__global__ void shuffle_without_self();
__global__ void shuffle_two_kinds();
__global__ void shuffle_two_types();
__global__ void shuffle_two_masks();
__global__ void shuffle_after_return();
__global__ void count_atomically(int* ints, float* floats, unsigned* unsigneds, double* doubles);
__global__ void claim_once(int* owner, int* winners);

// matrices.cu
__global__ void load_four(uint32_t* out, const uint16_t* matrices, bool transposed);
__global__ void multiply_16_8_16(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b);  // a (16, 16), b (16, 8)
template <class T, bool columns>
__global__ void multiply_wmma(float* d, const T* a, const T* b, const float* c);  // b is (N, K) if `columns`
__global__ void copy_async(float* out, const float* x, int valid, bool wait);
__global__ void copy_two_groups(float* out, const float* x);
__global__ void copy_unawaited(const float* x);
__global__ void copy_misaligned(const float* x);
__global__ void matrices_in_half_a_warp(float* c);

// faults.cu
__global__ void add_scalar(float* x, float value);
enum class Loop { plain, barrier, shuffle, one_thread, library };
__global__ void loop_for_ever(volatile float* x, Loop kind);
__global__ void write_at(float* x);
__global__ void divide(int* x, int by);
__global__ void copy_float4(float* out, const float* x);
bool copies_float4_at_once();  // an optimizing compiler does; only then can a misaligned one be seen without the
                               // checker
__global__ void use_stack(float* x, int n);
__global__ void load_float4(float* out, const float* x);
__global__ void launch_inside(float* x);

}  // namespace rungs::test
