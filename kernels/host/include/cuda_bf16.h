/// The host compiler's cuda_bf16.h.
#pragma once

#include "host/half.hpp"
