/// What the copy engine knows of a tensor in device memory. On a GPU its bytes are the driver's secret; here they are
/// this.
#pragma once

#include "thread.hpp"

namespace rungs::ptx {

/// A tensor of bf16 whose boxes are brought to shared memory in the swizzle of 128 bytes. Innermost dimension first.
struct TensorMap {
  u64 address;
  u32 rank;
  u32 box[5];     ///< in elements
  u64 size[5];    ///< in elements
  u64 stride[5];  ///< in bytes
};
static_assert(sizeof(TensorMap) <= 128, "a CUtensorMap has 128 bytes");

}  // namespace rungs::ptx
