/// The PTX that nvcc put into a program.
#pragma once

#include <string>
#include <vector>

namespace rungs::ptx {

/// The PTX modules of a fat binary, as `__cudaRegisterFatBinary` gets it, in the order in which they stand there. It
/// must have been made with nvcc --no-compress. \throws Fault where it is none
std::vector<std::string> modules_of(const void* wrapper);

}  // namespace rungs::ptx
