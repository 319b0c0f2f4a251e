/// What several ranks sum and gather on their GPUs, by NCCL: from GPU to GPU, without the host. One rank ran so on an
/// H100 (tests/kernels/gpu/nccl_test.cpp: sums, gatherings, and the logits of a model); its tests of several ranks wait
/// for a machine with several GPUs. What it does with NCCL's answers is tested with functions that stand for NCCL's, in
/// nccl_waits_test.cpp beside it.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "rungs/parallel/collectives.hpp"

namespace rungs {

/// Why these ranks cannot use NCCL; empty where they can. All ranks call it and get the same answer. Two ranks of one
/// GPU are a reason: NCCL refuses them. \throws UsageError where ranks are of different builds; RankLost
std::string why_not_nccl(Communicator& ranks);

/// Sums and gathers on `stream`, that of this rank's backend, on the GPU that is current in this thread; all ranks call
/// it together. `ranks` brings the others NCCL's id, counts what is called, and must outlive what is returned.
/// `patience`: seconds that a rank waits for the others; while they connect, where NCCL measures the machine, at least
/// `connection`. \throws RankLost; Error for a failure of NCCL, with the call, the rank and NCCL's words; UsageError in
/// a program that was built without NCCL
Collectives nccl_collectives(cudaStream_t stream, Communicator& ranks, double patience, double connection = 60);

}  // namespace rungs
