/// What the ranks of one model call together on tensors of their devices.
#pragma once

#include <functional>

#include "rungs/ops/device.hpp"
#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// Operations on f32 tensors that lie on each rank's own device. All ranks make the same calls in the same order.
struct Collectives {
  int rank = 0, ranks = 1;
  /// x = the sum of every rank's x, which has one size on all of them. \throws RankLost
  std::function<void(Tensor& x)> all_reduce;
  /// all = mine of rank 0, then mine of rank 1, ...  mine: n elements on every rank; all: ranks · n. \throws RankLost
  std::function<void(Tensor& all, const Tensor& mine)> all_gather;
  /// Returns when what was called has ended: a device may go on behind a call. \throws RankLost where a rank is lost,
  /// for which it would go on for ever
  std::function<void()> wait;
};

/// By `ranks`, which exchanges what lies in the memory of everybody: what lies on a GPU is downloaded before and
/// uploaded after. `device` and `ranks` must outlive what is returned.
Collectives through_host(Device& device, Communicator& ranks);

}  // namespace rungs
