/// The host compiler's cuda_fp16.h.
#pragma once

#include "kernels/emulator/language/half.hpp"
