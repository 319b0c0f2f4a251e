/// What the tests of the row by row kernels share.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/device_memory.hpp"
#include "support.hpp"

namespace rungs::test {

inline constexpr double u = unit_roundoff;

/// Device memory that begins one element after a multiple of 16 bytes when `shifted`, so that no 16 bytes can be read
/// at once; what was not put there is NaN.
class OnDevice {
 public:
  OnDevice(const Tensor& host, bool shifted) : shape_(host.shape()), dtype_(host.dtype()), shift_(shifted ? 1 : 0) {
    Tensor with_room({shape_.count() + shift_}, dtype_);
    std::memcpy(static_cast<char*>(with_room.raw()) + shift_ * bytes_of(dtype_), host.raw(), host.bytes());
    memory_ = to_device(with_room);
  }
  /// Not written yet.
  OnDevice(const Shape& shape, bool shifted, DType dtype = DType::f32) : OnDevice(Tensor(shape, dtype), shifted) {}

  template <class T = float>
  T* data() {
    return memory_.data<T>() + shift_;
  }
  /// A copy on the host.
  Tensor get() const {
    const Tensor with_room = to_host(memory_);
    Tensor host(shape_, dtype_);
    std::memcpy(host.raw(), static_cast<const char*>(with_room.raw()) + shift_ * bytes_of(dtype_), host.bytes());
    return host;
  }

 private:
  Shape shape_;
  DType dtype_;
  int64_t shift_;
  Tensor memory_;
};

/// Weights of any dtype: those of random_tensor in f32 and rounded in bf16, and in f16 such with sizes from 2⁻⁴ to 1.
inline Tensor random_weights(const Shape& shape, unsigned seed, DType dtype) {
  if (dtype != DType::f16) return converted(random_tensor(shape, seed), dtype);
  std::mt19937 bits(seed);
  Tensor out(shape, dtype);
  for (int64_t i = 0; i < out.count(); ++i) {
    const auto random = uint32_t(bits());
    out.data<f16>()[i] = {uint16_t((random & 0x83ff) | (11 + (random >> 16) % 4) << 10)};
  }
  return out;
}

struct Size {
  int N, C;
};

/// Rows around the size of a warp and of a load, and one longer than a block keeps in registers.
inline constexpr Size row_sizes[] = {{1, 1},   {2, 3},    {5, 31},   {31, 32},  {4, 33},    {33, 64},
                                     {1, 100}, {3, 1000}, {2, 1001}, {2, 4097}, {1, 16384}, {1, 16644}};

/// The root of n: how the rounding errors of a sum of n terms grow, which are about as likely up as down.
inline double random_walk(double n) { return std::sqrt(n); }

}  // namespace rungs::test
