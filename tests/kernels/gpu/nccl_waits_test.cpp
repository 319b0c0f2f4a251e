// What the backend does with NCCL's answers, without NCCL and without a GPU: the functions of both that it calls are
// here. NCCL's stand-ins sum what lies in the host's memory, and go on, fail or never end as a test wants.
#include <doctest/doctest.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "kernels/backend/cuda_device.hpp"
#include "kernels/backend/gpu_of_rank.hpp"
#include "kernels/backend/nccl.hpp"
#include "kernels/device.hpp"
#include "kernels/launch.cuh"
#include "rungs/parallel/thread_ranks.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

/// What a test wants of NCCL and of the GPU, and what happened.
struct Wish {
  bool connects = true, stream_ends = true;
  ncclResult_t sum_returns = ncclInProgress, later_state = ncclSuccess;
  std::atomic<int> aborted = 0, left = 0;
};
std::unique_ptr<Wish> wish;

/// Where the ranks of one test meet.
struct Meeting {
  explicit Meeting(int n) : barrier(n), from(size_t(n)) {}
  std::barrier<> barrier;
  std::vector<const float*> from;
};
std::unique_ptr<Meeting> meeting;

const cudaStream_t stream = reinterpret_cast<cudaStream_t>(0x5eed);
thread_local int stream_asked = 0;

}  // namespace

struct ncclComm {
  int rank, ranks;
  int asked = 0;  // times since the last call
  bool never = false;
};

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  id->internal[NCCL_UNIQUE_ID_BYTES - 1] = 7;
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (id.internal[NCCL_UNIQUE_ID_BYTES - 1] != 7 || config->blocking != 0) return ncclInvalidArgument;
  *comm = new ncclComm{rank, ranks, 0, !wish->connects};
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = comm->never || ++comm->asked < 100 ? ncclInProgress : wish->later_state;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  comm->asked = 0;
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  ++wish->left;
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  ++wish->aborted;
  delete comm;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "its name"; }
const char* ncclGetLastError(ncclComm_t) { return "what it says\nand more"; }
ncclResult_t ncclAllReduce(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t on) {
  if (in != out || type != ncclFloat32 || op != ncclSum || on != stream) return ncclInvalidArgument;
  if (wish->sum_returns != ncclInProgress) return wish->sum_returns;
  meeting->from[size_t(comm->rank)] = static_cast<const float*>(in);
  meeting->barrier.arrive_and_wait();
  std::vector<float> sum(n);
  for (const float* x : meeting->from)
    for (size_t i = 0; i < n; ++i) sum[i] += x[i];
  meeting->barrier.arrive_and_wait();
  std::copy(sum.begin(), sum.end(), static_cast<float*>(out));
  comm->asked = stream_asked = 0;
  return ncclInProgress;
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t n, ncclDataType_t type, ncclComm_t comm, cudaStream_t on) {
  if (type != ncclFloat32 || on != stream) return ncclInvalidArgument;
  meeting->from[size_t(comm->rank)] = static_cast<const float*>(in);
  meeting->barrier.arrive_and_wait();
  for (size_t r = 0; r < meeting->from.size(); ++r) std::copy_n(meeting->from[r], n, static_cast<float*>(out) + r * n);
  meeting->barrier.arrive_and_wait();
  comm->asked = stream_asked = 0;
  return ncclInProgress;
}

cudaError_t cudaStreamQuery(cudaStream_t on) {
  if (on != stream) return cudaErrorInvalidResourceHandle;
  return wish->stream_ends && ++stream_asked > 10 ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 2, cudaSuccess; }
static thread_local int current_gpu = 0;
cudaError_t cudaSetDevice(int device) { return current_gpu = device, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = current_gpu, cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char* place, int size, int device) {
  std::snprintf(place, size_t(size), "0000:0%d:00.0", device);
  return cudaSuccess;
}
void rungs::check_cuda(cudaError_t result, const char* call, const char*, int) {
  if (result != cudaSuccess) throw CudaError(call);
}
void rungs::require_cuda_device() {}

namespace {

/// Memory that a GPU would have.
Tensor on_gpu(std::vector<float>& memory) {
  return Tensor::view_of(memory.data(), {int64_t(memory.size())}, DType::f32, Place::gpu);
}

/// A sum on this rank.
void sum_ones(const Collectives& nccl) {
  std::vector<float> ones(5, 1);
  Tensor x = on_gpu(ones);
  nccl.all_reduce(x);
  nccl.wait();
}

void begin(int ranks) {
  wish = std::make_unique<Wish>();
  meeting = std::make_unique<Meeting>(ranks);
}

}  // namespace

TEST_SUITE_BEGIN("kernels");

TEST_CASE("sums and gatherings that go on behind the call are waited for, and counted, and all ranks leave") {
  begin(3);
  run_ranks(3, [](Communicator& ranks) {
    const Collectives nccl = nccl_collectives(stream, ranks, 5);
    CHECK(nccl.rank == ranks.rank());
    CHECK(nccl.ranks == 3);
    const auto me = float(ranks.rank());
    std::vector<float> x = {me, 10, 2 * me, 0}, mine = {me, -me}, all(6);
    Tensor sum = on_gpu(x), gathered = on_gpu(all);
    nccl.all_reduce(sum);
    nccl.all_gather(gathered, on_gpu(mine));
    nccl.wait();
    CHECK(x == std::vector<float>{3, 30, 6, 0});
    CHECK(all == std::vector<float>{0, 0, 1, -1, 2, -2});
    const Traffic t = ranks.traffic();
    CHECK(t.all_reduces == 1);
    CHECK(t.all_gathers == 1);
    const int64_t id = ranks.rank() == 0 ? 2 * NCCL_UNIQUE_ID_BYTES : 0;
    CHECK(t.bytes_sent == id + all_reduce_bytes(4, ranks.rank(), 3) + 2 * 2 * 4);
    Tensor narrow = gathered.view_rows(0, 5);
    CHECK_THROWS_AS(nccl.all_gather(narrow, on_gpu(mine)), ShapeError);
  });
  CHECK(wish->left == 3);
  CHECK(wish->aborted == 0);
}

TEST_CASE("a rank that never comes is named, where NCCL would wait for ever") {
  for (const bool connects : {false, true}) {
    CAPTURE(connects);
    begin(1);
    wish->connects = connects, wish->stream_ends = false;
    const auto begun = std::chrono::steady_clock::now();
    const auto work = [](Communicator& ranks) {
      if (ranks.rank() == 0) return sum_ones(nccl_collectives(stream, ranks, 0.2, 0.2));
      std::byte id[sizeof(ncclUniqueId)];
      ranks.broadcast(id);
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    };
    CHECK_THROWS_WITH_AS(run_ranks(2, work, 1), "rank 1 has not answered for 1 s", RankLost);
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(20));
    CHECK(wish->aborted == 1);
    CHECK(wish->left == 0);
  }
}

TEST_CASE("where all ranks answer, and NCCL does not, that is said") {
  begin(2);
  wish->stream_ends = false;
  const auto work = [](Communicator& ranks) { sum_ones(nccl_collectives(stream, ranks, 0.2)); };
  CHECK_THROWS_WITH_AS(run_ranks(2, work), Contains("has not ended for 0.2 s, though all ranks answer each other"),
                       Error);
  CHECK(wish->aborted == 2);
}

TEST_CASE("an error of NCCL names the call, the rank and its words, at once or later") {
  const auto work = [](Communicator& ranks) { sum_ones(nccl_collectives(stream, ranks, 5)); };
  begin(1);
  wish->sum_returns = ncclSystemError;
  CHECK_THROWS_WITH_AS(run_ranks(1, work), "NCCL: ncclAllReduce on rank 0: its name: what it says", Error);
  CHECK(wish->aborted == 1);
  begin(1);
  wish->later_state = ncclRemoteError;
  CHECK_THROWS_WITH_AS(run_ranks(1, work), "NCCL: ncclCommInitRankConfig on rank 0: its name: what it says", Error);
  CHECK(wish->aborted == 1);
}

TEST_CASE("ranks take the GPUs in turn, and two of one GPU are refused with a sentence") {
  for (const int count : {1, 2, 3}) {
    CAPTURE(count);
    run_ranks(count, [&](Communicator& ranks) {
      use_gpu_of_rank(ranks.rank());
      CHECK(current_gpu == ranks.rank() % 2);
      CHECK(why_not_nccl(ranks) == (count > 2 ? "ranks 0 and 2 have the same GPU, which NCCL refuses" : ""));
    });
  }
}

TEST_SUITE_END();
