/// NumPy's .npy files (format versions 1 to 3): one array each, little-endian, in C order.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Reads one array: f4, f8, f2, i4, i8, and V2 as bf16 (NumPy has no name for it). A scalar has rank 0; an empty array
/// is fine. \throws FileError naming the file, the field, what was wanted and what was found: big-endian, Fortran
/// order, another dtype, more than four dimensions, a header longer than the file, fewer or more bytes of data than the
/// shape says.
Tensor load_npy(const std::filesystem::path& path);

/// The same for the content of a file; `name` stands in the errors.
Tensor parse_npy(std::span<const std::byte> file, const std::string& name);

/// Writes one array, version 1. \throws FileError; no partial file is left.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace rungs
