/// The processor: what this program needs of it, and which vectors of it the library uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rungs {

/// One of the kinds of processors that the products are compiled for.
struct VectorTarget {
  std::string name;  ///< as Highway calls it: "AVX2", "AVX3_DL", "NEON"; "AMX": the best of them and tile registers;
                     ///< "AVX2_VNNI": AVX2 and AVX-VNNI
  bool runs_here;    ///< on this processor
  bool used;         ///< chosen
};

/// Those in this program, the best first.
std::vector<VectorTarget> vector_targets();

/// From now on the products use this target and no other: for tests and measurements. \throws UsageError for one that
/// is not in the program or does not run here.
void use_vector_target(const std::string& name);

/// Whether products with bf16 weights take the processor's dot product of bf16: it has one (AVX-512 BF16) that computes
/// more than its other products do, and exact products are not asked for.
bool uses_bf16_dot();

/// Whether products of bytes take AVX-VNNI, dot products in vectors of AVX2 (Intel's processors since 2021), where the
/// vectors used are those.
bool uses_avx_vnni();

/// Whether products take the processor's tile registers (Intel's AMX; ops/tile_registers.hpp).
bool uses_tiles();

/// Whether Intel made this processor: with AVX-512 other ways are fast on it than on AMD's (bench/README.md).
bool is_intel();

/// Where one block alone reads a row of a weight, it asks for what comes so many bytes later: as was measured best on
/// this kind of processor (bench/README.md). one_row_of_f32: whether one row of x meets a weight in f32
int64_t bytes_asked_ahead(bool one_row_of_f32);

/// From now on x stays in f32 beside bf16 weights, however many rows it has: here and on a GPU.
void use_exact_products(bool exact = true);
bool exact_products();  ///< whether that was asked for

/// What everything else was compiled for: "x86-64-v3", "native"; "the compiler's own choice" without -march. A program
/// looks for it before it begins, and ends with one sentence on a processor that lacks a part of it.
std::string baseline();

}  // namespace rungs
