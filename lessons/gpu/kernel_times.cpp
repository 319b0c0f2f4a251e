#include "kernel_times.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "kernels/launch.cuh"
#include "rungs/base/file.hpp"

namespace rungs {

namespace {

constexpr int warm_up = 3, runs = 21;
constexpr size_t copied_bytes = size_t(256) << 20;  // more than any L2 holds

/// Two events round one piece of work.
struct Timed {
  cudaEvent_t begin = nullptr, end = nullptr;
};

bool timing = false;
std::vector<Timed> timed;  // of this run

/// Nothing is timed while a stream is being captured: its launches run later, and more than once.
bool is_timed(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return timing && cudaStreamIsCapturing(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusNone;
}

template <class Work>
cudaError_t between_events(cudaStream_t stream, Work work) {
  if (!is_timed(stream)) return work();
  Timed t;
  CUDA_CHECK(cudaEventCreate(&t.begin));
  CUDA_CHECK(cudaEventCreate(&t.end));
  CUDA_CHECK(cudaEventRecord(t.begin, stream));
  const cudaError_t result = work();
  CUDA_CHECK(cudaEventRecord(t.end, stream));
  timed.push_back(t);
  return result;
}

/// Of all that was timed since the last call, together.
double seconds_of_all() {
  CUDA_CHECK(cudaDeviceSynchronize());
  double seconds = 0;
  for (const Timed& t : timed) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, t.begin, t.end));
    seconds += 1e-3 * double(milliseconds);
    CUDA_CHECK(cudaEventDestroy(t.begin));
    CUDA_CHECK(cudaEventDestroy(t.end));
  }
  timed.clear();
  return seconds;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Bytes read and written a second.
double copy_bandwidth() {
  void *from = nullptr, *to = nullptr;
  CUDA_CHECK(cudaMalloc(&from, copied_bytes));
  CUDA_CHECK(cudaMalloc(&to, copied_bytes));
  CUDA_CHECK(cudaMemset(from, 0, copied_bytes));
  std::vector<double> seconds;
  for (int i = 0; i < warm_up + runs; ++i) {
    CUDA_CHECK(between_events(
        nullptr, [&] { return cudaMemcpyAsync(to, from, copied_bytes, cudaMemcpyDeviceToDevice, nullptr); }));
    const double taken = seconds_of_all();
    if (i >= warm_up) seconds.push_back(taken);
  }
  CUDA_CHECK(cudaFree(from));
  CUDA_CHECK(cudaFree(to));
  return 2 * double(copied_bytes) / median(seconds);
}

}  // namespace

void write_times(const std::string& file, const CaseInput& in, RunCase run) {
  int device = 0;
  cudaDeviceProp is;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&is, device));
  timing = true;
  std::vector<double> seconds;
  size_t launches = 0;
  for (int i = 0; i < warm_up + runs; ++i) {
    Recording thrown_away;
    run(in, thrown_away);
    launches = timed.size();
    const double taken = seconds_of_all();
    if (i >= warm_up) seconds.push_back(taken);
  }
  const double bandwidth = copy_bandwidth();
  timing = false;
  write_whole(file, [&](std::ostream& out) {
    out << fmt::format(R"({{"device": "{}", "launches": {}, "seconds": {}, "copy": {}}})", is.name, launches,
                       median(seconds), bandwidth)
        << "\n";
  });
}

}  // namespace rungs

// What <<<...>>> becomes. The linker brings these calls here (--wrap), so that a lesson's file stays as it is.
extern "C" {
#if CUDART_VERSION >= 13000
cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                      cudaStream_t stream) {
  return rungs::between_events(
      stream, [&] { return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream); });
}
#else
cudaError_t __real_cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                    cudaStream_t stream) {
  return rungs::between_events(stream,
                               [&] { return __real_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream); });
}
#endif
}
