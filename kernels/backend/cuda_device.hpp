/// What both CUDA backends share: the memory of the device, one stream, the rotation of q and k, and the choice of a
/// token.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "kernels/sample/sample.hpp"
#include "rungs/ops/backend.hpp"

namespace rungs {

/// What this process asked of the device so far: generation at rest asks for no memory and brings home tokens only.
struct CudaTraffic {
  int64_t allocations = 0, frees = 0;    ///< calls
  int64_t uploads = 0, downloads = 0;    ///< calls
  int64_t uploaded = 0, downloaded = 0;  ///< bytes
  int64_t captures = 0, replays = 0;     ///< of steps, as CUDA graphs
};
inline CudaTraffic cuda_traffic;  ///< of all devices; a backend is used by one thread at a time

/// Memory of the device that grows when more is wanted, and is never given back before the end.
class Workspace {
 public:
  /// Room for n elements, 256-byte aligned, holding nothing. \throws CudaError
  template <class T>
  T* need(int64_t n) {
    return static_cast<T*>(need_bytes(size_t(n) * sizeof(T)));
  }
  /// The same, all zeros when it is new: for what every launch on `stream` leaves at zero. \throws CudaError
  template <class T>
  T* need_zeros(int64_t n, cudaStream_t stream) {
    const size_t before = bytes_;
    T* memory = need<T>(n);
    if (bytes_ > before) clear(stream);
    return memory;
  }

 private:
  void clear(cudaStream_t stream);
  void* need_bytes(size_t bytes);
  Tensor::Memory memory_{nullptr, nullptr};
  size_t bytes_ = 0;
};

/// A backend whose tensors lie on the device that was current when it was made. What it launches runs in order on one
/// stream; only download and sample wait for it.
class CudaDevice : public Device, public Ops, public Steps {
 public:
  CudaDevice();
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  operator Backend() { return {*this, *this, *this}; }
  /// On which everything runs: what is launched on it by others is in order with that.
  cudaStream_t stream() const { return stream_; }

  /// \throws CudaError with the bytes wanted and the bytes free
  Tensor allocate(const Shape& shape, DType dtype = DType::f32) override;
  void upload(Tensor& device, const void* host) override;
  void download(void* host, const Tensor& device) override;
  void copy(Tensor& out, const Tensor& x) override;
  void apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) override;
  void upload_weights(ConstTensor& weights) override;
  ConstTensor pack_weights(std::initializer_list<ConstTensor*> weights) override;
  std::optional<int64_t> free_memory() override;
  bool sample(std::span<int32_t> token, const Tensor& logits, const SampleOptions& options,
              std::span<const double> draw) override;

 protected:
  /// id (N) = the choice for each row of logits (N, V); draw: (N), or null for the largest logit. All on the device.
  virtual void launch_choice(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V) = 0;

  cudaStream_t stream_ = nullptr;

 private:
  Workspace ids_, draws_, sampling_;
  std::vector<Draw> host_draws_;
  int device_ = 0;
};

/// A size as the launchers take it. \throws ShapeError beyond 2³¹ - 1
int as_int(int64_t size);

/// \throws UsageError for a head width, or options, that no attention kernel takes
void require_taken(const AttentionOptions& options, int64_t D);

}  // namespace rungs
