#include "lesson.hpp"

namespace lesson_17 {

// In every kernel c: (M, N), a: (M, K), b: (K, N).

// ---- Rung 1: neighbours read neighbours ----

__global__ void coalesced_kernel(float* c, const float* a, const float* b, int M, int N, int K) {
  // >>> find this thread's element, x counting the columns of c and y its rows; where it exists, sum and write it
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += a[size_t(row) * K + k] * b[size_t(k) * N + column];
  c[size_t(row) * N + column] = sum;
  // <<<
}

void matmul_coalesced(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  const dim3 block(32, 8), grid(ceil_div(N, block.x), ceil_div(M, block.y));
  launch(coalesced_kernel, {grid, block, 0, stream}, c, a, b, M, N, K);
}

// ---- Rung 2: what many read is fetched once ----

constexpr int side = 32;  // of a tile

__global__ void tiled_kernel(float* c, const float* a, const float* b, int M, int N, int K) {
  __shared__ float a_tile[side][side], b_tile[side][side];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * side + y, column = blockIdx.x * side + x;  // of c
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += side) {
    // >>> fill element (y, x) of both tiles: a from column k0 on, b from row k0 on; 0 where a or b has no such element
    a_tile[y][x] = row < M && k0 + x < K ? a[size_t(row) * K + k0 + x] : 0;
    b_tile[y][x] = k0 + y < K && column < N ? b[size_t(k0 + y) * N + column] : 0;
    // <<<

    // >>> when the whole block has filled the tiles, add their products to sum; then wait until all have read
    __syncthreads();
    for (int k = 0; k < side; ++k) sum += a_tile[y][k] * b_tile[k][x];
    __syncthreads();
    // <<<
  }
  // >>> write sum, where c has such an element
  if (row < M && column < N) c[size_t(row) * N + column] = sum;
  // <<<
}

void matmul_tiled(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  const dim3 block(side, side), grid(ceil_div(N, side), ceil_div(M, side));
  launch(tiled_kernel, {grid, block, 0, stream}, c, a, b, M, N, K);
}

// ---- Rung 3: what a thread reads often stays in its registers ----

constexpr int each = 4;             // a thread makes each by each elements of c
constexpr int across = 16;          // threads of a block, in x and in y
constexpr int big = across * each;  // a block makes big by big elements of c
constexpr int depth = 16;           // columns of a, and rows of b, in a tile

__global__ void registers_kernel(float* c, const float* a, const float* b, int M, int N, int K) {
  __shared__ float a_tile[big][depth], b_tile[depth][big];
  const int x = threadIdx.x, y = threadIdx.y, thread = y * across + x, threads = across * across;
  const int row0 = blockIdx.y * big, column0 = blockIdx.x * big;  // where the block's part of c begins
  float sums[each][each] = {};  // (i, j): row row0 + y·each + i and column column0 + x·each + j of c
  for (int k0 = 0; k0 < K; k0 += depth) {
    // >>> fill both tiles, every `threads`th element by this thread; 0 where a or b has no such element
    for (int t = thread; t < big * depth; t += threads) {
      const int row = row0 + t / depth, k = k0 + t % depth;
      a_tile[t / depth][t % depth] = row < M && k < K ? a[size_t(row) * K + k] : 0;
    }
    for (int t = thread; t < depth * big; t += threads) {
      const int k = k0 + t / big, column = column0 + t % big;
      b_tile[t / big][t % big] = k < K && column < N ? b[size_t(k) * N + column] : 0;
    }
    // <<<

    // >>> for each k of the tiles: this thread's fours of a's column and b's row into registers, then 16 products
    __syncthreads();
    for (int k = 0; k < depth; ++k) {
      float a_k[each], b_k[each];
      for (int i = 0; i < each; ++i) a_k[i] = a_tile[y * each + i][k];
      for (int j = 0; j < each; ++j) b_k[j] = b_tile[k][x * each + j];
      for (int i = 0; i < each; ++i)
        for (int j = 0; j < each; ++j) sums[i][j] += a_k[i] * b_k[j];
    }
    __syncthreads();
    // <<<
  }
  // >>> write the sums, where c has such elements
  for (int i = 0; i < each; ++i)
    for (int j = 0; j < each; ++j) {
      const int row = row0 + y * each + i, column = column0 + x * each + j;
      if (row < M && column < N) c[size_t(row) * N + column] = sums[i][j];
    }
  // <<<
}

void matmul_registers(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  const dim3 block(across, across), grid(ceil_div(N, big), ceil_div(M, big));
  launch(registers_kernel, {grid, block, 0, stream}, c, a, b, M, N, K);
}

// ---- Rung 4: four floats at a time ----

/// Elements column to column + 3 of a row, 0 where there are none. `column` is a multiple of 4.  matrix: (rows,
/// columns)
__device__ float4 load_four(const float* matrix, int rows, int columns, int row, int column) {
  float4 four = make_float4(0, 0, 0, 0);
  // >>> where every row begins at a multiple of 16 bytes, one load of a float4; else those that exist, one by one
  if (row >= rows || column >= columns) return four;
  const float* from = matrix + size_t(row) * columns + column;
  if (columns % 4 == 0) return *reinterpret_cast<const float4*>(from);
  four.x = from[0];
  if (column + 1 < columns) four.y = from[1];
  if (column + 2 < columns) four.z = from[2];
  if (column + 3 < columns) four.w = from[3];
  // <<<
  return four;
}

__global__ void vectorized_kernel(float* c, const float* a, const float* b, int M, int N, int K) {
  // a's tile lies on its side, so that the four elements of its column that a thread needs are neighbours.
  alignas(16) __shared__ float a_tile[depth][big];
  alignas(16) __shared__ float b_tile[depth][big];
  const int x = threadIdx.x, y = threadIdx.y, thread = y * across + x;
  const int row0 = blockIdx.y * big, column0 = blockIdx.x * big;
  float sums[each][each] = {};
  for (int k0 = 0; k0 < K; k0 += depth) {
    // >>> four floats of either tile by each thread, with load_four: those of a go to a column of its tile
    const int i = thread / (depth / 4), k = thread % (depth / 4) * 4;
    const float4 from_a = load_four(a, M, K, row0 + i, k0 + k);
    a_tile[k][i] = from_a.x, a_tile[k + 1][i] = from_a.y, a_tile[k + 2][i] = from_a.z, a_tile[k + 3][i] = from_a.w;
    const int k_of_b = thread / across, j = thread % across * 4;
    *reinterpret_cast<float4*>(&b_tile[k_of_b][j]) = load_four(b, K, N, k0 + k_of_b, column0 + j);
    // <<<

    // >>> the products as on rung 3, each thread reading its fours of a and b at once
    __syncthreads();
    for (int k1 = 0; k1 < depth; ++k1) {
      const float4 four_a = *reinterpret_cast<const float4*>(&a_tile[k1][y * each]);
      const float4 four_b = *reinterpret_cast<const float4*>(&b_tile[k1][x * each]);
      const float a_k[] = {four_a.x, four_a.y, four_a.z, four_a.w}, b_k[] = {four_b.x, four_b.y, four_b.z, four_b.w};
      for (int m = 0; m < each; ++m)
        for (int n = 0; n < each; ++n) sums[m][n] += a_k[m] * b_k[n];
    }
    __syncthreads();
    // <<<
  }
  // >>> write the sums, a row of four at once where they exist and c's rows begin at multiples of 16 bytes
  for (int i = 0; i < each; ++i) {
    const int row = row0 + y * each + i, column = column0 + x * each;
    if (row >= M) continue;
    if (N % 4 == 0 && column < N)
      *reinterpret_cast<float4*>(&c[size_t(row) * N + column]) =
          make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    else
      for (int j = 0; j < each && column + j < N; ++j) c[size_t(row) * N + column + j] = sums[i][j];
  }
  // <<<
}

void matmul_vectorized(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  const dim3 block(across, across), grid(ceil_div(N, big), ceil_div(M, big));
  launch(vectorized_kernel, {grid, block, 0, stream}, c, a, b, M, N, K);
}

// ---- Rung 5: eight by eight ----

constexpr int eight = 2 * each;     // a thread makes eight by eight elements of c
constexpr int wide = 2 * big;       // a block makes wide by wide elements of c
constexpr int shallow = depth / 2;  // columns of a, and rows of b, in a tile

/// Where number i of a thread's eight rows is among the `wide` rows of its block, and number i of its columns among the
/// columns: two groups of four neighbours, `big` apart.  thread: its y for the rows, its x for the columns
__device__ int place_of(int i, int thread) {
  int place = 0;
  // >>> numbers 0 to 3 in the first `big`, 4 to 7 in the second, each time at the four of this thread
  place = i / each * big + thread * each + i % each;
  // <<<
  return place;
}

__global__ void eight_kernel(float* c, const float* a, const float* b, int M, int N, int K) {
  alignas(16) __shared__ float a_tile[shallow][wide];  // on its side, as on rung 4
  alignas(16) __shared__ float b_tile[shallow][wide];
  const int x = threadIdx.x, y = threadIdx.y, thread = y * across + x;
  const int row0 = blockIdx.y * wide, column0 = blockIdx.x * wide;
  float sums[eight][eight] = {};  // (i, j): row row0 + place_of(i, y) and column column0 + place_of(j, x) of c
  for (int k0 = 0; k0 < K; k0 += shallow) {
    // >>> four floats of either tile by each thread, as on rung 4, for tiles of these sizes
    const int row = thread / (shallow / 4), k = thread % (shallow / 4) * 4;
    const float4 of_a = load_four(a, M, K, row0 + row, k0 + k);
    a_tile[k][row] = of_a.x, a_tile[k + 1][row] = of_a.y, a_tile[k + 2][row] = of_a.z, a_tile[k + 3][row] = of_a.w;
    const int k_of_b = thread / (wide / 4), column = thread % (wide / 4) * 4;
    *reinterpret_cast<float4*>(&b_tile[k_of_b][column]) = load_four(b, K, N, k0 + k_of_b, column0 + column);
    // <<<

    // >>> the products as on rung 4, 64 of them for each k; a float4 begins at place_of number 0, another at number 4
    __syncthreads();
    for (int k1 = 0; k1 < shallow; ++k1) {
      alignas(16) float a_k[eight], b_k[eight];
      for (int i = 0; i < eight; i += each) {
        *reinterpret_cast<float4*>(&a_k[i]) = *reinterpret_cast<const float4*>(&a_tile[k1][place_of(i, y)]);
        *reinterpret_cast<float4*>(&b_k[i]) = *reinterpret_cast<const float4*>(&b_tile[k1][place_of(i, x)]);
      }
      for (int m = 0; m < eight; ++m)
        for (int n = 0; n < eight; ++n) sums[m][n] += a_k[m] * b_k[n];
    }
    __syncthreads();
    // <<<
  }
  // >>> write the sums as on rung 4, in each row two fours
  for (int i = 0; i < eight; ++i)
    for (int j = 0; j < eight; j += each) {
      const int row = row0 + place_of(i, y), column = column0 + place_of(j, x);
      if (row >= M || column >= N) continue;
      float* four = &c[size_t(row) * N + column];
      if (N % 4 == 0)
        *reinterpret_cast<float4*>(four) = make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
      else
        for (int n = 0; n < min(each, N - column); ++n) four[n] = sums[i][j + n];
    }
  // <<<
}

void matmul_8x8(float* c, const float* a, const float* b, int M, int N, int K, cudaStream_t stream) {
  const dim3 block(across, across), grid(ceil_div(N, wide), ceil_div(M, wide));
  launch(eight_kernel, {grid, block, 0, stream}, c, a, b, M, N, K);
}

}  // namespace lesson_17
