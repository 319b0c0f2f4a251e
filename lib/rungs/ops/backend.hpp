/// What a model runs on.
#pragma once

#include "rungs/ops/device.hpp"
#include "rungs/ops/ops.hpp"
#include "rungs/ops/steps.hpp"

namespace rungs {

/// A device, its operations, and its fused steps: three objects, or one that is all of them.
struct Backend {
  Device& device;
  Ops& ops;
  Steps& steps;
};

}  // namespace rungs
