/// Which GPU each of several ranks has.
#pragma once

#include <optional>
#include <utility>

#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// What this thread makes from now on lies on GPU `rank_here` of this machine, counted around where there are fewer.
/// `rank_here`: which of the ranks on this machine this one is. \throws UsageError where there is no GPU
void use_gpu_of_rank(int rank_here);

/// Two ranks that have the same GPU; nothing where each has one of its own. All ranks call it and get the same answer.
/// \throws RankLost
std::optional<std::pair<int, int>> ranks_of_one_gpu(Communicator& ranks);

}  // namespace rungs
