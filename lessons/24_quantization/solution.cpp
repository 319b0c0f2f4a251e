#include <cmath>

#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_24 {

/// Shows whole numbers as i32, which is what the grader reads.
template <class T>
static void tap_numbers(const char* name, const std::vector<T>& q) {
  Tensor wide({int64_t(q.size())}, DType::i32);
  std::copy(q.begin(), q.end(), wide.data<int32_t>());
  tap(name, wide);
}

static void tap_number(const char* name, float number) { tap(name, Tensor::view_of(&number, {}, DType::f32)); }

float int8_scale(std::span<const float> x) {
  // >>> one step: max |x| / 127, which is 0 where all are 0
  float largest = 0;
  for (const float value : x) largest = std::max(largest, std::fabs(value));
  return largest / 127;
  // <<<
}

int8_t to_int8(float x, float scale) {
  // >>> x / scale, rounded to the nearest whole number, halves away from zero; 0 where the scale is 0
  return scale == 0 ? int8_t(0) : int8_t(std::lround(x / scale));
  // <<<
}

Int8 quantize_tensor(const Tensor& x) {
  Int8 out{std::vector<int8_t>(x.count()), Tensor({1})};
  // >>> out.scale(0): the scale of all elements of x; out.q: each of them as int8
  out.scale(0) = int8_scale({x.data(), size_t(x.count())});
  for (int64_t i = 0; i < x.count(); ++i) out.q[i] = to_int8(x.flat(i), out.scale(0));
  // <<<
  return out;
}

void dequantize_tensor(Tensor& out, const Int8& in) {
  // >>> element i = q[i] · scale
  for (int64_t i = 0; i < out.count(); ++i) out.flat(i) = float(in.q[i]) * in.scale(0);
  // <<<
}

Int8 quantize_groups(const Tensor& x, int64_t group) {
  const int64_t K = x.dim(0), C = x.dim(1), groups = groups_in(C, group);
  Int8 out{std::vector<int8_t>(K * C), Tensor({K, groups})};
  for (int64_t k = 0; k < K; ++k)
    for (int64_t g = 0; g < groups; ++g) {
      const float* row = x.data() + k * C;  // x[k, :]
      // >>> out.scale(k, g) of elements [g · group, (g + 1) · group) of the row, or to its end; out.q[k · C + c]
      const int64_t first = g * group, last = std::min(first + group, C);
      out.scale(k, g) = int8_scale({row + first, size_t(last - first)});
      for (int64_t c = first; c < last; ++c) out.q[k * C + c] = to_int8(row[c], out.scale(k, g));
      // <<<
    }
  return out;
}

void dequantize_groups(Tensor& out, const Int8& in, int64_t group) {
  const int64_t K = out.dim(0), C = out.dim(1);
  // >>> element (k, c) = its q · the scale of its group
  for (int64_t k = 0; k < K; ++k)
    for (int64_t c = 0; c < C; ++c) out(k, c) = float(in.q[k * C + c]) * in.scale(k, c / group);
  // <<<
}

q4_0 quantize_block(const Tensor& x) {
  float scale = 0;
  // >>> scale = the element of the largest magnitude, with its sign, / -8; the first such element
  float largest = 0;
  for (int64_t i = 0; i < block_elements; ++i)
    if (std::fabs(x(i)) > std::fabs(largest)) largest = x(i);
  scale = largest / -8;
  // <<<
  tap_number("scale", scale);

  std::vector<uint8_t> nibble(block_elements);  // 0 to 15
  // >>> nibble[i] = x(i) / scale, rounded, + 8, and at most 15; 8 where the scale is 0
  for (int64_t i = 0; i < block_elements; ++i)
    nibble[i] = scale == 0 ? uint8_t(8) : uint8_t(std::min(15.0f, std::floor(x(i) / scale + 8.5f)));
  // <<<
  tap_numbers("nibble", nibble);

  q4_0 out{to_f16(scale), {}};
  constexpr int64_t half = block_elements / 2;
  // >>> out.q[i], i < half: nibble i in the low four bits, nibble i + half in the high four
  for (int64_t i = 0; i < half; ++i) out.q[i] = uint8_t(nibble[i] | nibble[i + half] << 4);
  // <<<
  return out;
}

void dequantize_block(Tensor& out, const q4_0& block) {
  const float scale = to_float(block.scale);
  constexpr int64_t half = block_elements / 2;
  // >>> out(i) from the low four bits of byte i, out(i + half) from the high four: (nibble - 8) · scale
  for (int64_t i = 0; i < half; ++i) {
    out(i) = float((block.q[i] & 15) - 8) * scale;
    out(i + half) = float((block.q[i] >> 4) - 8) * scale;
  }
  // <<<
}

Affine quantize_affine(const Tensor& x) {
  const std::span<const float> all(x.data(), size_t(x.count()));
  Affine out{std::vector<uint8_t>(all.size())};
  float lowest = 0, highest = 0;
  // >>> lowest, highest: the range of x, stretched to hold 0; out.scale: a 255th of it
  for (const float value : all) lowest = std::min(lowest, value), highest = std::max(highest, value);
  out.scale = (highest - lowest) / 255;
  // <<<
  tap_number("lowest", lowest), tap_number("highest", highest);
  if (out.scale == 0) return out;  // only zeros

  // >>> out.zero: where 0 lies, in steps from the lowest, rounded
  out.zero = int32_t(std::lround(-lowest / out.scale));
  // <<<

  // >>> out.q: x / scale, rounded, + zero, from 0 to 255
  for (size_t i = 0; i < all.size(); ++i)
    out.q[i] = uint8_t(std::clamp(std::lround(all[i] / out.scale) + out.zero, 0l, 255l));
  // <<<
  return out;
}

void dequantize_affine(Tensor& out, const Affine& in) {
  // >>> element i = (q[i] - zero) · scale
  for (int64_t i = 0; i < out.count(); ++i) out.flat(i) = float(in.q[i] - in.zero) * in.scale;
  // <<<
}

float dot(std::span<const int8_t> w, float w_scale, std::span<const int8_t> x, float x_scale) {
  // >>> the sum of w[i] · x[i] in 32 bits, then times both scales
  int32_t sum = 0;
  for (size_t i = 0; i < w.size(); ++i) sum += w[i] * x[i];
  return float(sum) * w_scale * x_scale;
  // <<<
}

void linear(Tensor& out, const Tensor& x, const Int8& weight, int64_t group) {
  const int64_t N = out.dim(0), K = out.dim(1), C = x.dim(1);
  Int8 in;  // (N, C)
  // >>> in: x in int8, in groups of the same size as those of the weight
  in = quantize_groups(x, group);
  // <<<
  tap("x_scale", in.scale), tap_numbers("x_q", in.q);

  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) {
      // >>> out(n, k): the sum of the groups' dot products, each with its two scales
      float sum = 0;
      for (int64_t first = 0; first < C; first += group) {
        const int64_t g = first / group, size = std::min(group, C - first);
        sum += dot({&weight.q[k * C + first], size_t(size)}, weight.scale(k, g), {&in.q[n * C + first], size_t(size)},
                   in.scale(n, g));
      }
      out(n, k) = sum;
      // <<<
    }
}

void scores_from_cache(Tensor& scores, const Tensor& q, const Int8& keys) {
  const int64_t H = q.dim(0), D = q.dim(1), S = keys.scale.dim(0), G = keys.scale.dim(1);
  for (int64_t h = 0; h < H; ++h)
    for (int64_t s = 0; s < S; ++s) {
      const int64_t g = h / (H / G);                        // the key head that h reads
      const int8_t* key = keys.q.data() + (s * G + g) * D;  // keys[s, g, :]
      // >>> scores(h, s) = Σ q(h, d) · key[d], times the scale of this token's head, over √D
      float sum = 0;
      for (int64_t d = 0; d < D; ++d) sum += q(h, d) * float(key[d]);
      scores(h, s) = sum * keys.scale(s, g) / std::sqrt(float(D));
      // <<<
    }
}

double predicted_error(const Tensor& scale) {
  // >>> the mean of scale² / 12
  double sum = 0;
  for (int64_t i = 0; i < scale.count(); ++i) sum += double(scale.flat(i)) * scale.flat(i) / 12;
  return sum / double(scale.count());
  // <<<
}

double measured_error(const Tensor& x, const Tensor& y) {
  // >>> the mean of (x - y)²
  double sum = 0;
  for (int64_t i = 0; i < x.count(); ++i) sum += std::pow(double(x.flat(i)) - y.flat(i), 2);
  return sum / double(x.count());
  // <<<
}

}  // namespace lesson_24
