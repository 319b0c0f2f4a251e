/// The memory of a device.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Where tensors lie: the memory of everybody, or that of a GPU.
class Device {
 public:
  virtual ~Device() = default;

  virtual Tensor allocate(const Shape& shape, DType dtype = DType::f32) = 0;
  virtual void upload(Tensor& device, const void* host) = 0;    ///< device.bytes() bytes
  virtual void download(void* host, const Tensor& device) = 0;  ///< device.bytes() bytes
  /// Brings weights from the host to where the operations read them. Those of the CPU stay where they are mapped.
  virtual void upload_weights(ConstTensor& weights) = 0;
  /// The same for weights (K, C), (L, C), ... that are used together. Where the device lays them out one behind the
  /// other, returns them as one tensor (K + L + ..., C), which owns the memory that they are views of then; otherwise
  /// an empty one.
  virtual ConstTensor pack_weights(std::initializer_list<ConstTensor*> weights) = 0;
  /// How many bytes of the device's memory are free; none where it is the memory of everybody.
  virtual std::optional<int64_t> free_memory() = 0;
};

}  // namespace rungs
