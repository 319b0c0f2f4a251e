#include "kernels/backend/cuda_device.hpp"

#include <fmt/format.h>

#include <atomic>
#include <limits>

#include "kernels/device.hpp"
#include "kernels/launch.cuh"
#include "kernels/rope/rope.hpp"
#include "rungs/base/error.hpp"
#include "rungs/ops/require.hpp"

namespace rungs {

// Ranks that are threads have a backend each, and share these numbers.
static void count(int64_t& number, size_t more = 1) { std::atomic_ref(number) += int64_t(more); }

static size_t free_bytes() {
  size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

// A graph holds addresses. Where memory was given back they may become somebody else's: see CudaOps::decode.
static void give_back(void* memory) {
  count(cuda_traffic.frees);
  cudaFree(memory);
}

static Tensor::Memory device_memory(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, std::max<size_t>(bytes, 1));
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it was reported
    throw CudaError(fmt::format("the device has no room for {:.3f} GB: {:.3f} GB are free", double(bytes) / 1e9,
                                double(free_bytes()) / 1e9));
  }
  check_cuda(result, "cudaMalloc", __FILE__, __LINE__);
  count(cuda_traffic.allocations);
  return {memory, give_back};
}

void* Workspace::need_bytes(size_t bytes) {
  if (bytes > bytes_) {
    memory_.reset();
    bytes_ = 0;
    memory_ = device_memory(bytes);
    bytes_ = bytes;
  }
  return memory_.get();
}

void Workspace::clear(cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(memory_.get(), 0, bytes_, stream)); }

CudaDevice::CudaDevice() : Steps(static_cast<Ops&>(*this)) {
  require_cuda_device();
  CUDA_CHECK(cudaGetDevice(&device_));
  CUDA_CHECK(cudaStreamCreate(&stream_));
  ids_.need<int>(64);  // the device's memory is at work before this object is, and so outlives it
}

CudaDevice::~CudaDevice() { cudaStreamDestroy(stream_); }

Tensor CudaDevice::allocate(const Shape& shape, DType dtype) {
  CUDA_CHECK(cudaSetDevice(device_));  // a thread begins with device 0
  return Tensor(shape, dtype, device_memory(size_t(shape.count()) * bytes_of(dtype)), Place::gpu);
}

void CudaDevice::upload(Tensor& device, const void* host) {
  if (device.bytes() == 0) return;
  CUDA_CHECK(cudaSetDevice(device_));  // every call of a model begins here
  CUDA_CHECK(cudaMemcpyAsync(device.raw(), host, device.bytes(), cudaMemcpyHostToDevice, stream_));
  count(cuda_traffic.uploads);
  count(cuda_traffic.uploaded, device.bytes());
}

void CudaDevice::download(void* host, const Tensor& device) {
  if (device.bytes() > 0)
    CUDA_CHECK(cudaMemcpyAsync(host, device.raw(), device.bytes(), cudaMemcpyDeviceToHost, stream_));
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  count(cuda_traffic.downloads);
  count(cuda_traffic.downloaded, device.bytes());
}

void CudaDevice::copy(Tensor& out, const Tensor& x) {
  require_copy(Place::gpu, out, x);
  if (x.bytes() > 0) CUDA_CHECK(cudaMemcpyAsync(out.raw(), x.raw(), x.bytes(), cudaMemcpyDeviceToDevice, stream_));
}

void CudaDevice::apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) {
  require_rope(Place::gpu, x, rotary.cos, rotary.sin, position);
  if (x.count() == 0) return;
  const int N = as_int(x.dim(0)), D = as_int(x.cols()), H = as_int(x.rows()) / N;
  rope_01(x.data(), {rotary.cos.data(), rotary.sin.data()}, position.data<int32_t>(), N, H, D, stream_);
}

void CudaDevice::upload_weights(ConstTensor& weights) {
  if (!weights) return;
  Tensor device = allocate(weights.shape(), weights.dtype());
  upload(device, weights.raw());
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  weights = std::move(device);
}

ConstTensor CudaDevice::pack_weights(std::initializer_list<ConstTensor*> weights) {
  const ConstTensor& first = **weights.begin();
  int64_t rows = 0;
  for (const ConstTensor* w : weights) {
    if (w->dtype() != first.dtype() || w->cols() != first.cols()) {
      for (ConstTensor* weight : weights) upload_weights(*weight);
      return {};
    }
    rows += w->rows();
  }
  Tensor packed = allocate({rows, first.cols()}, first.dtype());
  int64_t at = 0;
  for (ConstTensor* weight : weights) {
    Tensor part = packed.view_rows(at, weight->rows());
    upload(part, weight->raw());
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    at += weight->rows();
    *weight = std::move(part);
  }
  return packed;
}

std::optional<int64_t> CudaDevice::free_memory() { return int64_t(free_bytes()); }

bool CudaDevice::sample(std::span<int32_t> token, const Tensor& logits, const SampleOptions& options,
                        std::span<const double> draw) {
  const int64_t N = logits.rows(), V = logits.cols();
  require(Place::gpu, int64_t(token.size()) == N && draw.size() == token.size(), "sample(token, logits, draw)", logits);
  if (N == 0) return true;
  int* ids = ids_.need<int>(N);
  Draw* draws = nullptr;
  if (options.temperature > 0) {
    host_draws_.clear();
    for (const double number : draw)
      host_draws_.push_back({options.temperature, options.top_p, number, int(std::min(options.top_k, V))});
    draws = draws_.need<Draw>(N);
    Tensor to = Tensor::view_of(draws, {N * int64_t(sizeof(Draw) / 8)}, DType::f64, Place::gpu);
    upload(to, host_draws_.data());
  }
  void* workspace = sampling_.need<char>(int64_t(sample_workspace(as_int(N), as_int(V))));
  launch_choice(ids, logits.data(), draws, workspace, as_int(N), as_int(V));
  download(token.data(), Tensor::view_of(ids, {N}, DType::i32, Place::gpu));
  return true;
}

int as_int(int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw ShapeError(fmt::format("a size of {} is more than the CUDA kernels count to", size));
  return int(size);
}

void require_taken(const AttentionOptions& options, int64_t D) {
  if (options != AttentionOptions{})
    throw UsageError(
        "attention: the CUDA kernels take the causal mask and the scale 1/√D alone; --backend cpu takes windows, soft "
        "caps and other scales too");
  if (D < 1 || D > 256)
    throw UsageError(fmt::format(
        "attention: the CUDA kernels take heads of 1 to 256 elements, this one has {}; --backend cpu takes any", D));
}

}  // namespace rungs
