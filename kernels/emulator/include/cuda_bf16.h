/// The host compiler's cuda_bf16.h.
#pragma once

#include "kernels/emulator/language/half.hpp"
