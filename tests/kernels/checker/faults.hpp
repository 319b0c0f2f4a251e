/// Kernels with one planted fault each, and the same kernels without it.
///
/// A kernel is a template over `bool right`: kernel<true> is correct. Lines that the message must name are marked
/// `// fault: NAME` in the source, NAME as in PLANT, so that no line number stands anywhere.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/launch.cuh"

namespace rungs::test {

struct Fault {
  std::string name;
  std::string file;               ///< the .cu file's path
  std::string says;               ///< words that the message must have
  std::function<void(bool)> run;  ///< launches the kernel, right or not, and waits for it
};

std::vector<Fault>& faults();

/// Adds a fault to faults(): `static const Plant p("name", __FILE__, "race", [](bool right) { ... });`
struct Plant {
  Plant(std::string name, std::string file, std::string says, std::function<void(bool)> run) {
    faults().push_back({std::move(name), std::move(file), std::move(says), std::move(run)});
  }
};

/// n floats of device memory; 0, 1, 2, ... unless `written` is false.
class DeviceFloats {
 public:
  explicit DeviceFloats(size_t n, bool written = true);
  DeviceFloats(const DeviceFloats&) = delete;
  ~DeviceFloats();
  operator float*() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  float* data_ = nullptr;
};

/// \name Kernels of overlap.cu that read at once what is complete
///@{
void read_after_the_host_waited();
void read_after_a_copy();
void read_after_an_ordinary_kernel();
///@}

/// Launches the right kernel or the broken one.
template <class... P, class... A>
void run_one(bool right, void (*kernel)(P...), void (*broken)(P...), const LaunchShape& shape, A&&... arguments) {
  launch(right ? kernel : broken, shape, std::forward<A>(arguments)...);
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace rungs::test
