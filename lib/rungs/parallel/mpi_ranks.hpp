/// Ranks that are processes: `mpirun -n N PROGRAM` starts them, on one machine or on several.
#pragma once

#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// Joins the processes that mpirun started; alone, without mpirun, a process is the only rank. `patience`: seconds that
/// a rank waits for another. Called once; what it returns may be used by any thread, but by
/// one at a time. \throws UsageError in a program that was built without MPI, or with one that cannot do that
Communicator mpi_ranks(double patience);

/// How many of the ranks run on this machine, and so share its processors.
int mpi_ranks_here();

/// Which of those this one is, from 0.
int mpi_rank_here();

/// Every rank has ended well.
void leave_mpi();

/// Ends all ranks, those that do not answer, too.
[[noreturn]] void abort_mpi(int status);

}  // namespace rungs
