/// From statements to instructions: names become slots, opcodes functions.
#pragma once

#include "parse.hpp"
#include "thread.hpp"

namespace rungs::ptx {

/// The code keeps pointers into the function and itself: it may be moved, not copied. \throws Fault for an opcode or a
/// name that is not known.
Code decode(const Function& function);

}  // namespace rungs::ptx
