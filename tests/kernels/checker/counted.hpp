/// Kernels whose memory traffic is known.
#pragma once

#include <string>

#include "kernels/launch.cuh"

namespace rungs::test {

void run_global_loads(float* out, const float* in);  ///< out: 256 floats, in: 1024
void run_shared_loads(float* out);                   ///< out: 32 floats
/// Two blocks of 64 threads sum n numbers, each all of them twice.
void run_loop(float* out, const float* in, int n);
/// The path of the file, whose lines are marked `// count: NAME`.
std::string counted_source();

}  // namespace rungs::test
