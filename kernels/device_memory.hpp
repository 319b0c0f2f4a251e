/// Tensors in the memory of the device: a GPU's, or what stands for it on the CPU.
#pragma once

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Fresh device memory, not written yet. \throws CudaError with the bytes wanted and the bytes free.
Tensor device_tensor(const Shape& shape, DType dtype = DType::f32);
/// A copy on the device of a tensor on the host.
Tensor to_device(const Tensor& host);
/// A copy on the host; waits for all kernels first.
Tensor to_host(const Tensor& device);

/// The checker watches every access of the kernels, so they take longer: tests choose fewer of them then.
bool kernels_are_checked();

}  // namespace rungs
