/// The runtime's calls: memory, the device, streams, events, graphs, and what is said when they are used wrongly.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "device_array.hpp"
#include "host_kernels.hpp"
#include "kernels/device_memory.hpp"
#include "kernels/emulator/engine/dry_run.hpp"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

/// The text of the error that `result` is.
static std::string text_of(cudaError_t result) {
  CHECK(result != cudaSuccess);
  CHECK(cudaGetLastError() == result);
  CHECK(cudaGetLastError() == cudaSuccess);
  return cudaGetErrorString(result);
}
static void check_text(cudaError_t result, const char* part) {
  const std::string text = text_of(result);
  CHECK_MESSAGE(text.find(part) != std::string::npos, text);
}

TEST_CASE("fresh device memory is NaN and aligned to 256 bytes") {
  DeviceArray<float> x(1000);
  CHECK(reinterpret_cast<uintptr_t>(static_cast<float*>(x)) % 256 == 0);
  for (float v : x.get()) CHECK(std::isnan(v));
}

TEST_CASE("copies go where their direction says") {
  const std::vector<float> host = counting<float>(100);
  DeviceArray<float> a(host), b(100);
  std::vector<float> back(100);
  CHECK(cudaMemcpy(b, a, 400, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(back.data(), b, 400, cudaMemcpyDefault) == cudaSuccess);
  CHECK(back == host);
  CHECK(cudaMemset(b + 50, 0, 200) == cudaSuccess);
  CHECK(b.get()[49] == 49);
  CHECK(b.get()[50] == 0);
  CHECK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice) == cudaSuccess);
}

TEST_CASE("a copy in the wrong direction or over the end is explained") {
  DeviceArray<float> device(100);
  std::vector<float> host(200);
  check_text(cudaMemcpy(host.data(), device, 400, cudaMemcpyHostToDevice), "the destination, 0x");
  check_text(cudaMemcpy(device, host.data(), 400, cudaMemcpyDeviceToHost), "is device memory and should be the host's");
  check_text(cudaMemcpy(device, host.data(), 400, cudaMemcpyDeviceToDevice), "the source, 0x");
  check_text(cudaMemcpy(device, host.data(), 404, cudaMemcpyHostToDevice),
             "cudaMemcpy: 404 bytes, but the destination has 400 left on the device");
  check_text(cudaMemcpyAsync(host.data(), device + 99, 8, cudaMemcpyDeviceToHost),
             "cudaMemcpyAsync: 8 bytes, but the source has 4 left");
  check_text(cudaMemset(device, 0, 500), "500 bytes, but the memory has 400 left");
  check_text(cudaMemset(host.data(), 0, 4), "is no device memory");
  check_text(cudaFree(host.data()), "is not the begin of device memory, or freed already");
  CHECK_THROWS_WITH_AS(CUDA_CHECK(cudaMemset(device, 0, 500)),
                       Contains("cudaMemset(device, 0, 500): cudaMemset: 500 bytes"), CudaError);
  CHECK_THROWS_WITH_AS(CUDA_CHECK(cudaMemset(device, 0, 500)), Contains("(runtime_test.cpp:"), CudaError);
  cudaGetLastError();
}

TEST_CASE("more memory than the machine has is refused with what is free") {
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  CHECK(free > 0);
  CHECK(free <= total);
  void* memory = nullptr;
  check_text(cudaMalloc(&memory, size_t(1) << 50), "1125899906842624 bytes of device memory wanted");
  CHECK(memory == nullptr);
  CHECK_THROWS_WITH_AS(device_tensor({int64_t(1) << 48}, DType::f32),
                       Contains("wants 1125899906842624 bytes of device memory, "), CudaError);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("tensors go to the device and back") {
  Tensor host({3, 5});
  for (int64_t i = 0; i < 15; ++i) host.flat(i) = float(i);
  Tensor device = to_device(host);
  CHECK(device.shape() == host.shape());
  CHECK(cudaMemset(device.raw(), 0, 4) == cudaSuccess);  // it is device memory
  const Tensor back = to_host(device);
  CHECK(back(0, 0) == 0);
  CHECK(back(2, 4) == 14);
  CHECK(std::isnan(to_host(device_tensor({2})).flat(1)));
  CHECK(bool(device_tensor({0, 4})));
  CHECK(to_host(device_tensor({0, 4})).count() == 0);
}

TEST_CASE("the device is the CPU with the limits of a GPU") {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 1);
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0) == cudaSuccess);
  CHECK(std::string(p.name) == "the CPU");
  CHECK(p.major >= 8);
  CHECK(p.totalGlobalMem > size_t(1) << 28);
  CHECK(p.maxThreadsPerBlock == 1024);
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess);
  CHECK(size_t(value) == p.sharedMemPerBlockOptin);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  CHECK(value >= 1);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxRegistersPerMultiprocessor, 0) == cudaSuccess);
  CHECK(value == 65536);
  CHECK(p.regsPerBlock == 65536);
  check_text(cudaSetDevice(1), "no device 1");
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, reverse_block) == cudaSuccess);
  CHECK(attributes.sharedSizeBytes == 1024);
  const size_t limit = p.sharedMemPerBlockOptin - 1024;
  check_text(cudaFuncSetAttribute(reverse_block, cudaFuncAttributeMaxDynamicSharedMemorySize, int(limit + 1)),
             fmt::format("{} bytes of dynamic shared memory for test::reverse_block, the limit is {}", limit + 1, limit)
                 .c_str());
}

TEST_CASE("a dry run checks launches and copies and leaves them undone, in memory that no machine has") {
  DeviceArray<float> x(std::vector<float>{1, 2});
  {
    const emulator::DryRun dry;
    launch(add_scalar, {1, 2}, x, 1.0f);
    CHECK(cudaMemset(x, 0, 8) == cudaSuccess);
    check_text(cudaMemset(x, 0, 12), "12 bytes, but the memory has 8 left");
    CHECK_THROWS_WITH_AS(launch(add_scalar, {1, 2048}, x, 1.0f), Contains("a block of 2048 threads"), CudaError);
    const DeviceArray<float> large(size_t(1) << 42);
    CHECK(cudaMemset(large, 0, size_t(1) << 44) == cudaSuccess);
    launch(add_scalar, {1 << 30, 1024}, static_cast<float*>(large), 1.0f);
  }
  CHECK(x.get() == std::vector<float>{1, 2});
}

TEST_CASE("events take the time between them") {
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  CUDA_CHECK(cudaStreamCreate(&stream));
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  float milliseconds = -1;
  check_text(cudaEventElapsedTime(&milliseconds, begin, end), "an event was not recorded");
  DeviceArray<float> x(std::vector<float>(256));
  CUDA_CHECK(cudaEventRecord(begin, stream));
  for (int i = 0; i < 100; ++i) launch(add_scalar, {1, 256, 0, stream}, x, 1.0f);
  CUDA_CHECK(cudaEventRecord(end, stream));
  CUDA_CHECK(cudaEventSynchronize(end));
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess);
  CHECK(milliseconds > 0);
  CHECK(milliseconds < 10000);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  check_text(cudaStreamSynchronize(stream), "not a stream, or destroyed already");
  CHECK_THROWS_WITH_AS(launch(add_scalar, {1, 256, 0, stream}, x, 1.0f), Contains("not a stream, or destroyed already"),
                       CudaError);
  cudaGetLastError();
}

/// A stream and what was captured from it.
struct Captured {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  Captured() { CUDA_CHECK(cudaStreamCreate(&stream)); }
  ~Captured() {
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
  }
  void begin() { CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)); }
  void end() {
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  }
};

TEST_CASE("a captured stream does nothing until its graph is launched and then what it was told") {
  Captured c;
  DeviceArray<float> x(std::vector<float>(4)), y(std::vector<float>(4));
  std::vector<float> host(4, -1);
  float step = 2;
  c.begin();
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(c.stream, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  launch(add_scalar, {1, 4, 0, c.stream}, x, step);
  CUDA_CHECK(cudaMemcpyAsync(y, x, 16, cudaMemcpyDeviceToDevice, c.stream));
  launch(add_scalar, {1, 4, 0, c.stream}, y, 100.0f);
  CUDA_CHECK(cudaMemsetAsync(y, 0, 4, c.stream));
  CUDA_CHECK(cudaMemcpyAsync(host.data(), y, 16, cudaMemcpyDeviceToHost, c.stream));
  c.end();
  CHECK(x.get()[0] == 0);
  CHECK(host[1] == -1);

  step = 5;  // too late: the graph holds the value that was given
  for (int i = 1; i <= 3; ++i) {
    CUDA_CHECK(cudaGraphLaunch(c.executable, c.stream));
    CUDA_CHECK(cudaStreamSynchronize(c.stream));
    CHECK(x.get()[3] == float(2 * i));
    CHECK(host == std::vector<float>{0, float(100 + 2 * i), float(100 + 2 * i), float(100 + 2 * i)});
  }
}

TEST_CASE("what would wait for a captured stream is refused and breaks the capture") {
  DeviceArray<float> x(std::vector<float>(4));
  float* fresh = nullptr;
  const std::pair<const char*, std::function<cudaError_t()>> calls[] = {
      {"cudaMemcpy on the legacy stream", [&] { return cudaMemcpy(x, x, 4, cudaMemcpyDeviceToDevice); }},
      {"cudaMemsetAsync on the legacy stream", [&] { return cudaMemset(x, 0, 4); }},
      {"cudaMalloc while a stream", [&] { return cudaMalloc(&fresh, 4); }},
      {"cudaFree while a stream", [&] { return cudaFree(x); }},
      {"cudaDeviceSynchronize while a stream", [] { return cudaDeviceSynchronize(); }},
      {"cudaStreamSynchronize while a stream", [] { return cudaStreamSynchronize(nullptr); }},
  };
  for (const auto& [text, call] : calls) {
    Captured c;
    c.begin();
    check_text(call(), text);
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(c.stream, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusInvalidated);
    check_text(cudaStreamEndCapture(c.stream, &c.graph), "an illegal call has broken the capture");
    CHECK(c.graph == nullptr);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
  }
  Captured c;
  c.begin();
  CHECK_THROWS_WITH_AS(launch(add_scalar, {1, 4}, x, 1.0f), Contains("test::add_scalar on the legacy stream"),
                       CudaError);
  check_text(cudaStreamSynchronize(c.stream), "cudaStreamSynchronize while a stream");
  check_text(cudaStreamBeginCapture(c.stream, cudaStreamCaptureModeGlobal), "being captured already");
  check_text(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), "the legacy stream cannot be captured");
  check_text(cudaStreamEndCapture(c.stream, &c.graph), "broken");
  check_text(cudaStreamEndCapture(c.stream, &c.graph), "the stream is not being captured");
  CHECK_NOTHROW(launch(add_scalar, {1, 4}, x, 1.0f));
}

TEST_CASE("a relaxed capture lets other streams work") {
  Captured c, other;
  DeviceArray<float> x(std::vector<float>(4));
  CUDA_CHECK(cudaStreamBeginCapture(c.stream, cudaStreamCaptureModeRelaxed));
  launch(add_scalar, {1, 4, 0, c.stream}, x, 1.0f);
  launch(add_scalar, {1, 4, 0, other.stream}, x, 10.0f);
  c.end();
  CHECK(x.get()[0] == 10);
  CUDA_CHECK(cudaGraphLaunch(c.executable, other.stream));
  CHECK(x.get()[0] == 11);
}

TEST_CASE("a fault inside a graph is the launch's error") {
  Captured c;
  c.begin();
  launch(leave_before_barrier, {1, 64, 0, c.stream}, 60);
  CHECK_THROWS_WITH_AS(launch(leave_before_barrier, {1, 2000, 0, c.stream}, 60), Contains("the limit is 1024"),
                       CudaError);
  c.end();
  CHECK_THROWS_WITH_AS(cudaGraphLaunch(c.executable, c.stream), Contains("kernel test::leave_before_barrier"),
                       CudaError);
}

TEST_SUITE_END();

}  // namespace rungs::test
