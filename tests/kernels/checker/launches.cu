// Launches that a GPU refuses.
#include "checker/faults.hpp"

namespace rungs::test {
namespace {

__global__ void fill(float* p) {
  if (threadIdx.x < 64) p[threadIdx.x] = 1.0f;
}

void launch_fill(const LaunchShape& shape) {
  DeviceFloats p(64);
  launch(fill, shape, p);
}

const Plant plant_1("too many threads", __FILE__, "1024", [](bool right) { launch_fill({1, right ? 1024u : 1056u}); });
const Plant plant_2("too much shared memory", __FILE__, "shared", [](bool right) {
  launch_fill({1, 64, right ? size_t(100) << 10 : size_t(300) << 10});
});
const Plant plant_3("empty grid", __FILE__, "grid", [](bool right) { launch_fill({right ? 1u : 0u, 64}); });
const Plant plant_4("empty block", __FILE__, "block", [](bool right) { launch_fill({1, right ? 64u : 0u}); });
const Plant plant_5("too high a grid", __FILE__, "65535", [](bool right) {
  launch_fill({dim3(1, right ? 1 : 65536), 1});
});

}  // namespace
}  // namespace rungs::test
