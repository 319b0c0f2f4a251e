/// The host compiler's mma.h.
#pragma once

#include "host/wmma.hpp"
