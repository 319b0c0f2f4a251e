/// How the engine's tests hold device memory and look at errors.
#pragma once

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/launch.cuh"
#include "rungs/base/error.hpp"

namespace rungs::test {

using doctest::Contains;

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) { CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    CUDA_CHECK(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  operator T*() const { return data_; }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    CUDA_CHECK(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

/// 0, 1, 2, ...
template <class T>
std::vector<T> counting(size_t n) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = T(float(i));
  return values;
}

/// What `body` throws; empty when nothing.
template <class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const CudaError& error) {
    return error.what();
  }
  return "";
}

/// Sets a variable of the environment; at the end it is again what it was.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    setenv(name, value, 1);
  }
  ~Setting() {
    if (had_)
      setenv(name_, old_.c_str(), 1);
    else
      unsetenv(name_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

}  // namespace rungs::test
