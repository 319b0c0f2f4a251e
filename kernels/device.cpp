#include "kernels/device.hpp"

#include "kernels/launch.cuh"

namespace rungs {

int attribute_of_device(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

}  // namespace rungs
