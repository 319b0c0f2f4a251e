/// Ranks that are threads of this process: for tests, and wherever there is no MPI.
#pragma once

#include <functional>

#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// Calls work(communicator) on `ranks` threads at once and returns when all have ended. A rank that throws ends the
/// others, and so does one that ends while another waits for it. `patience`: seconds that a rank waits for another that
/// has not ended. \throws what the first rank threw that ended by itself; RankLost
void run_ranks(int ranks, const std::function<void(Communicator&)>& work, double patience = 10);

}  // namespace rungs
