/// CUDA's warp matrix functions for tiles of 16 x 16 x 16: bf16 or half factors, f32 sums.
#pragma once

#include <type_traits>

#include "kernels/emulator/language/half.hpp"
#include "kernels/emulator/language/math.hpp"
#include "kernels/emulator/language/tensor_core.hpp"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

/// A tile, spread over a warp. Which lane holds what is nobody's business but ours: lane l holds elements 8l to 8l + 7,
/// counted along the rows.
template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static_assert(M == 16 && N == 16 && K == 16, "on the CPU, tiles are 16 x 16 x 16");
  static_assert(std::is_same_v<Use, accumulator> ? std::is_same_v<T, float>
                                                 : std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>,
                "on the CPU, factors are bf16 or half and sums are f32");
  static constexpr int num_elements = 8;
  using element_type = T;
  T x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout>
__forceinline__ void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, std::type_identity_t<T> value) {
  for (T& x : f.x) x = value;
}

/// Calls visit(i, place): element i of the calling lane is at p[place].
template <class T, class Visit>
__forceinline__ void visit_elements(const T* p, unsigned stride, bool columns, const char* operation, Visit visit) {
  rungs::emulator::require_aligned(p, 32, operation);
  rungs::emulator::require_multiple(stride * sizeof(T), 16, operation, "bytes between rows");
  const int lane = rungs::emulator::lane_index();
  for (int i = 0; i < 8; ++i) {
    const unsigned row = unsigned(lane) / 2, column = unsigned(lane) % 2 * 8 + unsigned(i);
    visit(i, columns ? column * stride + row : row * stride + column);
  }
}

template <class Use, class T, class Layout>
__forceinline__ void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& f, const T* p, unsigned stride) {
  visit_elements(p, stride, std::is_same_v<Layout, col_major>, "wmma::load_matrix_sync",
                 [&](int i, unsigned place) { f.x[i] = p[place]; });
}
__forceinline__ void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& f, const float* p, unsigned stride,
                                      layout_t layout) {
  visit_elements(p, stride, layout == mem_col_major, "wmma::load_matrix_sync",
                 [&](int i, unsigned place) { f.x[i] = p[place]; });
}
__forceinline__ void store_matrix_sync(float* p, const fragment<accumulator, 16, 16, 16, float>& f, unsigned stride,
                                       layout_t layout) {
  visit_elements(p, stride, layout == mem_col_major, "wmma::store_matrix_sync",
                 [&](int i, unsigned place) { p[place] = f.x[i]; });
}

/// d = a · b + c
template <class T, class LayoutA, class LayoutB>
__forceinline__ void mma_sync(fragment<accumulator, 16, 16, 16, float>& d,
                              const fragment<matrix_a, 16, 16, 16, T, LayoutA>& a,
                              const fragment<matrix_b, 16, 16, 16, T, LayoutB>& b,
                              const fragment<accumulator, 16, 16, 16, float>& c,
                              rungs::emulator::Site site = rungs::emulator::Site::here()) {
  using rungs::emulator::Factors;
  rungs::emulator::multiply_tiles(d.x, &a.x[0].bits, &b.x[0].bits, c.x,
                                  std::is_same_v<T, __half> ? Factors::half : Factors::bf16, site);
}

}  // namespace nvcuda::wmma
