// The stand-in for the CUDA runtime: errors, memory, streams and graphs. Launches and copies are finished when the call
// returns, unless their stream is being captured. Errors do not stay, so that one test does not fail the next.
#include "runtime.hpp"

#include <utility>
#include <vector>

#include "fault.hpp"
#include "memory.hpp"

namespace rungs::ptx {

namespace {
cudaError_t last_error = cudaSuccess;
std::string last_fault;

using Work = std::vector<std::function<cudaError_t()>>;

struct Stream {
  Work* captured = nullptr;  // while it is captured
};
}  // namespace

cudaError_t fail(cudaError_t error) { return last_error = error; }

cudaError_t fail(const std::exception& exception) {
  last_fault = exception.what();
  return fail(cudaErrorLaunchFailure);
}

cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work) {
  Stream* of_ours = reinterpret_cast<Stream*>(stream);
  if (!of_ours || !of_ours->captured) return work();
  of_ours->captured->push_back(std::move(work));
  return cudaSuccess;
}

}  // namespace rungs::ptx

using namespace rungs::ptx;

extern "C" {

// Errors.

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaSuccess) return "no error";
  if (error == cudaErrorMemoryAllocation) return "out of memory";
  return error == cudaErrorLaunchFailure ? last_fault.c_str() : "an invalid argument or configuration";
}

// Memory.

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = allocate(bytes);
  return *memory ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* memory) {
  try {
    if (memory) rungs::ptx::free(memory);
    return cudaSuccess;
  } catch (const Fault&) {
    return fail(cudaErrorInvalidValue);
  }
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = free_bytes(), *total = device_bytes;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return submit(stream, [=] {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  return submit(stream, [=] {
    std::memset(memory, value, bytes);
    return cudaSuccess;
  });
}

// Streams and graphs.

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = reinterpret_cast<cudaStream_t>(new Stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete reinterpret_cast<Stream*>(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  reinterpret_cast<Stream*>(stream)->captured = new Work;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(std::exchange(reinterpret_cast<Stream*>(stream)->captured, nullptr));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  *ready = reinterpret_cast<cudaGraphExec_t>(new Work(*reinterpret_cast<Work*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Work*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete reinterpret_cast<Work*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  for (const auto& work : *reinterpret_cast<Work*>(graph))
    if (const cudaError_t result = work(); result != cudaSuccess) return result;
  return cudaSuccess;
}

}  // extern "C"
