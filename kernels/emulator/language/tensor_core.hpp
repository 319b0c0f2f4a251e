/// What tensor cores do, computed for a warp by the last of its lanes to arrive.
#pragma once

#include <cstdint>

#include "kernels/emulator/language/block.hpp"

namespace rungs::emulator {

enum class Factors { bf16, half };

/// ldmatrix: `matrices` of 8 x 8, as kernels/tensor_core.cuh says.
void load_matrices(uint32_t* registers, int matrices, const void* row, bool transposed, Site site = Site::here());

/// mma.m16n8k16: sum += a · b, fragments as kernels/tensor_core.cuh says.
void multiply_fragments(float* sum, const uint32_t* a, const uint32_t* b, Factors factors, Site site = Site::here());

/// d (16, 16) = a (16, 16) · b (16, 16) + c, for wmma: lane l holds elements 8l to 8l + 7 of each, in rows.
void multiply_tiles(float* d, const uint16_t* a, const uint16_t* b, const float* c, Factors factors, Site site);

}  // namespace rungs::emulator
