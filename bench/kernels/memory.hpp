/// Memory of the device for measurements: random, and rotating.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/launch.cuh"
#include "rungs/tensor/dtype.hpp"

namespace rungs::bench {

/// out[i] = middle + spread · x, x uniform in [-1, 1), the same for the same seed.
template <class T>
void fill_uniform(T* out, size_t count, uint64_t seed, float middle, float spread, cudaStream_t stream);
/// out = in, 16 bytes a thread at a time, `each` times: 1, 2 or 4. count: of 16 bytes.
void copy_16_bytes(void* out, const void* in, size_t count, int each, cudaStream_t stream);

/// How many threads read_16_bytes has: as many as a large GPU holds at a time, twice.
constexpr size_t read_threads = size_t(1) << 19;
/// sum[i] = the sum of what thread i reads of `in`, in words of 32 bits, modulo 2^32; i < read_threads. `each` pieces
/// of 16 bytes are on their way at a time: 2, 4 or 8. count: of 16 bytes.
void read_16_bytes(uint32_t* sum, const void* in, size_t count, int each, bool past_l1, cudaStream_t stream);

/// An array on the device, several times: each call of a kernel gets the next one, so that it finds nothing of what it
/// reads in a cache.
template <class T>
class Rotated {
 public:
  Rotated(size_t count, int turns) : count_(count), turns_(turns), stride_((count + 255) / 256 * 256) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes()));
    data_.reset(static_cast<T*>(memory));
  }
  T* operator[](int turn) const { return data_.get() + stride_ * size_t(turn % turns_); }
  /// Random numbers of [-1, 1) · spread + middle in all of them.
  Rotated& fill(uint64_t seed, float spread = 1, float middle = 0) {
    fill_uniform(data_.get(), stride_ * size_t(turns_), seed, middle, spread, nullptr);
    return *this;
  }
  /// Bits that no result has: NaN, -1.
  void poison() { CUDA_CHECK(cudaMemset(data_.get(), 0xff, bytes())); }
  std::vector<T> download(int turn) const {
    std::vector<T> host(count_);
    CUDA_CHECK(cudaMemcpy(host.data(), (*this)[turn], count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  void upload(const std::vector<T>& host) {
    for (int turn = 0; turn < turns_; ++turn)
      CUDA_CHECK(cudaMemcpy((*this)[turn], host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }

 private:
  size_t bytes() const { return stride_ * size_t(turns_) * sizeof(T); }
  struct Free {
    void operator()(T* memory) const { cudaFree(memory); }
  };
  size_t count_;
  int turns_;
  size_t stride_;  // in elements; whole multiples of 16 bytes
  std::unique_ptr<T, Free> data_;
};

}  // namespace rungs::bench
