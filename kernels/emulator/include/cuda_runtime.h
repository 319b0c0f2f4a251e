/// The host compiler's cuda_runtime.h: the part of CUDA that kernels use, on the CPU.
#pragma once

#include "kernels/emulator/engine/launch.hpp"
#include "kernels/emulator/language/atomics.hpp"
#include "kernels/emulator/language/block.hpp"
#include "kernels/emulator/language/math.hpp"
#include "kernels/emulator/language/vector_types.hpp"
#include "kernels/emulator/language/warp.hpp"
#include "kernels/emulator/runtime/runtime_api.hpp"
