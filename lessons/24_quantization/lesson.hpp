/// Lesson 24: quantization, weights and caches in 8 and in 4 bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rungs/tensor/tensor.hpp"

/// Lesson 24, 24_quantization.
namespace lesson_24 {

using namespace rungs;

/// Whole numbers in 8 bits, and what one step of them is worth: element = q · scale.
struct Int8 {
  std::vector<int8_t> q;  ///< as many as the tensor has elements, in its order
  Tensor scale;           ///< (1), one for all; or (K, groups), one for each group of neighbours in a row
};

/// The groups of a row of C elements. Where `group` does not divide C, the last one is shorter.
inline int64_t groups_in(int64_t C, int64_t group) { return (C + group - 1) / group; }

/// The step of int8 for these numbers: max |x| / 127, so that none lies beyond ±127.
float int8_scale(std::span<const float> x);

/// x / scale, rounded to the nearest whole number, halves away from zero; 0 where the scale is 0.
int8_t to_int8(float x, float scale);

/// One scale for the whole tensor (per tensor).  x: any shape.
Int8 quantize_tensor(const Tensor& x);
/// out: the shape of what was quantized.
void dequantize_tensor(Tensor& out, const Int8& in);

/// A scale for each group of `group` neighbours in a row (per group).  x: (K, C).
Int8 quantize_groups(const Tensor& x, int64_t group);
/// out: (K, C).
void dequantize_groups(Tensor& out, const Int8& in, int64_t group);

/// A block of 32 numbers in 4 bits each, as GGUF's Q4_0 has it: an f16 scale and 16 bytes.  x: (32).
q4_0 quantize_block(const Tensor& x);
/// out: (32).
void dequantize_block(Tensor& out, const q4_0& block);

/// Asymmetric int8: element = (q - zero) · scale, q from 0 to 255, so that the range may lie anywhere around 0.
struct Affine {
  std::vector<uint8_t> q;
  float scale = 0;
  int32_t zero = 0;  ///< the q that stands for 0 (zero point)
};

/// One scale and one zero point for all.  x: any shape.
/// Jacob and others 2018, "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
/// Inference", equation 1.
Affine quantize_affine(const Tensor& x);
/// out: the shape of what was quantized.
void dequantize_affine(Tensor& out, const Affine& in);

/// w · x of one group: products and their sum are whole numbers, and both scales come at the end.
float dot(std::span<const int8_t> w, float w_scale, std::span<const int8_t> x, float x_scale);

/// out = x · weightᵀ in whole numbers: x is quantized on the fly, in the groups of the weight.
/// out: (N, K); x: (N, C); weight: (K, C).
void linear(Tensor& out, const Tensor& x, const Int8& weight, int64_t group);

/// Scores of one new token against a cache in int8: out = q · key · 1/√D. Query head h reads key head h / (H / G).
/// scores: (H, S); q: (H, D); keys.q: (S, G, D) with keys.scale: (S, G), one for each token and head.
void scores_from_cache(Tensor& scores, const Tensor& q, const Int8& keys);

/// The mean square error that rounding is expected to make: step² / 12, averaged over the groups, whose steps are the
/// scales.
double predicted_error(const Tensor& scale);
/// The mean of (x - y)².  x, y: one shape.
double measured_error(const Tensor& x, const Tensor& y);

}  // namespace lesson_24
