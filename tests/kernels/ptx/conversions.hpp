/// Floats of 16 bits, by their bits.
#pragma once

#include "thread.hpp"

namespace rungs::ptx {

f32 from_bf16(u16 x);
f32 from_f16(u16 x);

/// The nearest, of two the even one. A NaN becomes 0x7fff, as PTX has it.
u16 to_bf16(f32 x);
u16 to_f16(f32 x);

}  // namespace rungs::ptx
