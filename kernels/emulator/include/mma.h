/// The host compiler's mma.h.
#pragma once

#include "kernels/emulator/language/wmma.hpp"
