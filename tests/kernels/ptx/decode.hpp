/// From statements to instructions: names become slots, opcodes functions.
#pragma once

#include "parse.hpp"
#include "thread.hpp"

namespace rungs::ptx {

/// The instructions keep pointers into the function. \throws Fault for an opcode or a name that is not known.
Code decode(const Function& function);

}  // namespace rungs::ptx
