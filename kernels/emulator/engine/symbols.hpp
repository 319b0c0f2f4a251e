/// The program's own symbol table: the names of kernels, and where their static __shared__ arrays are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rungs::emulator {

/// A static __shared__ array.
struct SharedSymbol {
  uintptr_t offset;  ///< address(symbol) makes it the one of this OS thread
  size_t bytes;
  std::string name;    ///< "matmul_tiled<32>::tile"
  const void* kernel;  ///< whose array it is; null: that of a function which kernels call
};

const std::vector<SharedSymbol>& shared_symbols();
/// The addresses of all kernels in the program, each instantiation of a template by itself.
const std::vector<const void*>& kernels_of_program();
unsigned char* address(const SharedSymbol& symbol);

/// "matmul_tiled<32>": without the namespace, the parameters and what is returned.
std::string short_name(const std::string& signature);
/// The function that holds `address`, in short.
std::string name_of_function(uintptr_t address);
/// Whether a variable or a constant of the program is there, other than a __shared__ array.
bool in_variable(uintptr_t address);
/// Whether the program's own code is there, and not that of a shared library.
bool in_program_code(uintptr_t address);

}  // namespace rungs::emulator
