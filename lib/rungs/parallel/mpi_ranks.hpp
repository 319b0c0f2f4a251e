/// Ranks that are processes: `mpirun -n N PROGRAM` starts them, on one machine or on several.
#pragma once

#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// How long a rank waits for the others.
struct Patience {
  double seconds;  ///< for an exchange, or until all have left; six times as long until all are there
  /// MPI itself waits for ranks to begin and to end, and cannot be told for how long. When the time is over, this is
  /// called by another thread, and must end the process: mpirun then ends the others.
  std::function<void(const Error&)> give_up;
};

/// The ranks, and those of them that run on this machine and so share its processors.
struct MpiRanks {
  Communicator all;
  int here;       ///< how many run on this machine
  int rank_here;  ///< which of those this one is, from 0
};

/// Joins the processes that mpirun started; alone, without mpirun, a process is the only rank. Called once; what it
/// returns may be used by any thread, but by one at a time. \throws UsageError in a program that was built without MPI,
/// or with one that cannot do that
MpiRanks join_mpi(const Patience& patience);

/// Every rank has ended well.
void leave_mpi(const Patience& patience);

/// Ends all ranks, those that do not answer, too.
[[noreturn]] void abort_mpi(int status);

}  // namespace rungs
