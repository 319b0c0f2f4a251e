/// What the rungs of attention share: the choice of a compiled width, and four floats at a time.
#pragma once

#include <type_traits>

#include "kernels/floats.cuh"
#include "kernels/launch.cuh"

namespace rungs {

/// Calls f(WIDTH) with the smallest compiled width that holds D.
template <class F>
void with_width(int D, const F& f) {
  if (D <= 32) return f(std::integral_constant<int, 32>{});
  if (D <= 64) return f(std::integral_constant<int, 64>{});
  if (D <= 128) return f(std::integral_constant<int, 128>{});
  f(std::integral_constant<int, 256>{});
}

/// Calls f(WIDTH, ALIGNED): ALIGNED says that each row of D floats at each pointer can be read four floats at a time.
template <class F, class... P>
void with_width_and_alignment(const F& f, int D, const P*... pointers) {
  with_width(D, [&](auto width) {
    if (rows_of_4(D, pointers...))
      f(width, std::true_type{});
    else
      f(width, std::false_type{});
  });
}

/// Elements d to d + 3 of a row of D floats, d a multiple of 4; zeros beyond its end.
template <bool ALIGNED>
__device__ __forceinline__ float4 load4(const float* row, int d, int D) {
  float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if constexpr (ALIGNED) {
    if (d < D) x = *reinterpret_cast<const float4*>(row + d);
  } else {
    if (d < D) x.x = row[d];
    if (d + 1 < D) x.y = row[d + 1];
    if (d + 2 < D) x.z = row[d + 2];
    if (d + 3 < D) x.w = row[d + 3];
  }
  return x;
}

/// The inverse of load4: what lies beyond the row's end is not written.
template <bool ALIGNED>
__device__ __forceinline__ void store4(float* row, int d, int D, float4 x) {
  if constexpr (ALIGNED) {
    if (d < D) *reinterpret_cast<float4*>(row + d) = x;
  } else {
    if (d < D) row[d] = x.x;
    if (d + 1 < D) row[d + 1] = x.y;
    if (d + 2 < D) row[d + 2] = x.z;
    if (d + 3 < D) row[d + 3] = x.w;
  }
}

/// x · y
__device__ __forceinline__ float dot4(float4 x, float4 y) { return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w; }

/// sum += a · x
__device__ __forceinline__ void add_scaled(float4& sum, float a, float4 x) {
  sum.x += a * x.x;
  sum.y += a * x.y;
  sum.z += a * x.z;
  sum.w += a * x.w;
}

/// x *= a
__device__ __forceinline__ void scale4(float4& x, float a) {
  x.x *= a;
  x.y *= a;
  x.z *= a;
  x.w *= a;
}

}  // namespace rungs
