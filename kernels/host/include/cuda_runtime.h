/// The host compiler's cuda_runtime.h: the part of CUDA that kernels use, on the CPU.
#pragma once

#include "host/atomics.hpp"
#include "host/block.hpp"
#include "host/launch.hpp"
#include "host/math.hpp"
#include "host/runtime_api.hpp"
#include "host/vector_types.hpp"
#include "host/warp.hpp"
