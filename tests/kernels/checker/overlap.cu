// Kernels that may begin while those before them still run: programmatic dependent launch.
#include "checker/faults.hpp"
#include "kernels/overlap.cuh"

namespace rungs::test {
namespace {

__global__ void write_ones(float* p) {
  p[threadIdx.x] = 1.0f;  // fault: reads what the kernel before writes, reads what the last but one writes
}

/// Lets the next kernel begin before it has waited itself, so that this one may meet write_ones, too.
__global__ void wait_only(float*) {
  let_next_kernel_begin();
  wait_for_earlier_kernels();
}

/// Reads what no kernel writes, then waits.
template <bool right>
__global__ void add_weight(float* out, const float* weight, const float* x) {
  const float w = weight[threadIdx.x];
  if (right) wait_for_earlier_kernels();
  const float in = x[threadIdx.x];  // fault: reads what the kernel before writes, reads what the last but one writes
  wait_for_earlier_kernels();
  out[threadIdx.x] = w + in;
}

template <bool right>
__global__ void write(float* out) {
  if (right) wait_for_earlier_kernels();
  out[threadIdx.x] = 2.0f;  // fault: writes before it waits
  wait_for_earlier_kernels();
}

template <bool right>
__global__ void count_threads(float* out) {
  if (right) wait_for_earlier_kernels();
  atomicAdd(out, 1.0f);  // fault: adds before it waits
  wait_for_earlier_kernels();
}

template <bool right>
__global__ void some_wait(float* out) {
  if (!right && threadIdx.x >= 40) return;
  wait_for_earlier_kernels();
  out[threadIdx.x] = 3.0f;
}

template <bool right>
__global__ void waits(float* out) {
  if (right) wait_for_earlier_kernels();
  static_cast<void>(out);
}

constexpr LaunchShape ordinary = {1, 64, 0, nullptr, false}, overlapping = {1, 64, 0, nullptr, true};

const char* const too_early = "before it waited for the kernels before it";
const char* const never = "returned before it waited for the kernels before this one";

const Plant plant_1("reads what the kernel before writes", __FILE__, too_early, [](bool right) {
  DeviceFloats out(64), weight(64), x(64);
  launch(write_ones, ordinary, x);
  run_one(right, add_weight<true>, add_weight<false>, overlapping, out, weight, x);
});
const Plant plant_2("reads what the last but one writes", __FILE__, too_early, [](bool right) {
  DeviceFloats out(64), weight(64), x(64), nothing(1);
  launch(write_ones, ordinary, x);
  launch(wait_only, overlapping, nothing);
  run_one(right, add_weight<true>, add_weight<false>, overlapping, out, weight, x);
});
const Plant plant_3("writes before it waits", __FILE__, too_early, [](bool right) {
  DeviceFloats out(64);
  run_one(right, write<true>, write<false>, overlapping, out);
});
const Plant plant_4("adds before it waits", __FILE__, too_early, [](bool right) {
  DeviceFloats out(1);
  run_one(right, count_threads<true>, count_threads<false>, overlapping, out);
});
const Plant plant_5("never waits", __FILE__, never, [](bool right) {
  DeviceFloats out(64);
  run_one(right, waits<true>, waits<false>, overlapping, out);
});
const Plant plant_6("some threads never wait", __FILE__, never, [](bool right) {
  DeviceFloats out(64);
  run_one(right, some_wait<true>, some_wait<false>, overlapping, out);
});

// What ends the kernels before it makes it right to read at once what they wrote: the same kernel, and no fault.
void read_at_once_after(const std::function<void(float*)>& end_of_kernels) {
  DeviceFloats out(64), weight(64), x(64);
  launch(write_ones, ordinary, x);
  end_of_kernels(x);
  launch(add_weight<false>, overlapping, out, weight, x);
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace

void read_after_the_host_waited() {
  read_at_once_after([](float*) { CUDA_CHECK(cudaDeviceSynchronize()); });
}
void read_after_a_copy() {
  read_at_once_after([](float* x) {
    float host = 0;
    CUDA_CHECK(cudaMemcpyAsync(&host, x, sizeof host, cudaMemcpyDeviceToHost, nullptr));
  });
}
void read_after_an_ordinary_kernel() {
  read_at_once_after([](float*) {
    DeviceFloats nothing(1);
    launch(wait_only, ordinary, nothing);
  });
}

}  // namespace rungs::test
