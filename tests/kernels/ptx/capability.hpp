/// The GPU that is played.
#pragma once

namespace rungs::ptx {

/// The first digit of its compute capability: 9, an H100, where RUNGS_DEVICE is h100, and else 8, an A100.
int compute_capability();

}  // namespace rungs::ptx
