/// Both CUDA backends, for tests that run on each.
#pragma once

#include <functional>
#include <utility>

#include "kernels/backend/cuda_ops.hpp"
#include "kernels/backend/naive_ops.hpp"
#include "kernels/device_memory.hpp"
#include "support.hpp"

namespace rungs::test {

inline NaiveCudaOps& naive_ops() {
  static NaiveCudaOps ops;
  return ops;
}
inline CudaOps& cuda_ops() {
  static CudaOps ops;
  return ops;
}

/// work(ops) for each of them.
inline void on_both(const std::function<void(CudaDevice&)>& work) {
  for (const auto& [name, ops] :
       {std::pair<const char*, CudaDevice*>{"cuda-naive", &naive_ops()}, {"cuda", &cuda_ops()}}) {
    CAPTURE(name);
    work(*ops);
  }
}

/// A copy on the device.
inline Tensor to(Device& ops, const Tensor& host) {
  Tensor device = ops.allocate(host.shape(), host.dtype());
  ops.upload(device, host.raw());
  return device;
}

/// A copy on the host.
inline Tensor from(Device& ops, const Tensor& device) {
  Tensor host(device.shape(), device.dtype());
  ops.download(host.raw(), device);
  return host;
}

/// Integers on the host.
inline Tensor integers(const std::vector<int32_t>& list) {
  return Tensor::view_of(list.data(), {int64_t(list.size())}, DType::i32).copy();
}

}  // namespace rungs::test
