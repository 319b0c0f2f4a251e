#include "lesson.hpp"

namespace lesson_16 {

__global__ void add_kernel(float* out, const float* x, const float* y, int n);
__global__ void matmul_kernel(float* c, const float* a, const float* b, int M, int N, int K);

void add(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
  constexpr int threads = 256;  // of a block
  // >>> launch add_kernel in blocks of `threads` threads, as many as give each of the n elements a thread
  launch(add_kernel, {ceil_div(n, threads), threads, 0, stream}, out, x, y, n);
  // <<<
}

/// What each of the threads does.  out, x, y: (n)
__global__ void add_kernel(float* out, const float* x, const float* y, int n) {
  // >>> i = which of all threads this one is, over all blocks; out[i] = x[i] + y[i] where there is such an element
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
  // <<<
}

void add_from_host(float* out, const float* x, const float* y, int n) {
  const size_t bytes = size_t(n) * sizeof(float);
  float *device_out = nullptr, *device_x = nullptr, *device_y = nullptr;  // (n) each, on the device
  // >>> get memory for the three arrays on the device, and copy x and y there; check every call
  CUDA_CHECK(cudaMalloc(&device_out, bytes));
  CUDA_CHECK(cudaMalloc(&device_x, bytes));
  CUDA_CHECK(cudaMalloc(&device_y, bytes));
  CUDA_CHECK(cudaMemcpy(device_x, x, bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_y, y, bytes, cudaMemcpyHostToDevice));
  // <<<

  // >>> add on the device, copy the sum back, and free the three arrays; check every call
  add(device_out, device_x, device_y, n, nullptr);
  CUDA_CHECK(cudaMemcpy(out, device_out, bytes, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(device_out));
  CUDA_CHECK(cudaFree(device_x));
  CUDA_CHECK(cudaFree(device_y));
  // <<<
}

void matmul(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  constexpr int side = 16;  // of a block: 16 by 16 threads
  // >>> launch matmul_kernel in blocks of side by side threads: x counts the rows of c, y its columns
  const dim3 grid(ceil_div(M, side), ceil_div(N, side)), block(side, side);
  launch(matmul_kernel, {grid, block, 0, stream}, c, a, b, M, N, K);
  // <<<
}

/// Each thread makes one element of c.  c: (M, N); a: (M, K); b: (K, N)
__global__ void matmul_kernel(float* c, const float* a, const float* b, int M, int N, int K) {
  // >>> find this thread's row and column; where there is such an element of c, sum its K products and write it
  const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= M || column >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += a[size_t(row) * K + k] * b[size_t(k) * N + column];
  c[size_t(row) * N + column] = sum;
  // <<<
}

}  // namespace lesson_16
