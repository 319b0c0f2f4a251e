#include "kernels/backend/nccl.hpp"

#include <fmt/format.h>

#include "kernels/backend/gpu_of_rank.hpp"
#include "rungs/parallel/agree.hpp"

namespace rungs {

#ifdef RUNGS_HAS_NCCL
static constexpr bool has_nccl = true;
#else
static constexpr bool has_nccl = false;
#endif

std::string why_not_nccl(Communicator& ranks) {
  agree(ranks, {{"another build, with or without NCCL,", has_nccl}});
  if (!has_nccl) return "this rungs was built without NCCL";
  if (const auto two = ranks_of_one_gpu(ranks))
    return fmt::format("ranks {} and {} have the same GPU, which NCCL refuses", two->first, two->second);
  return "";
}

}  // namespace rungs

#ifdef RUNGS_HAS_NCCL

#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include "kernels/launch.cuh"

namespace rungs {

namespace {

/// One rank's end of an NCCL communicator that never blocks: each call may go on behind it, and then is asked about
/// until it has ended, or too much time has passed because a rank is missing.
class NcclRank {
 public:
  NcclRank(cudaStream_t stream, Communicator& ranks, double patience, double connection)
      : stream_(stream), ranks_(ranks), patience_(patience) {
    ncclUniqueId id{};
    if (ranks.rank() == 0) take("ncclGetUniqueId", ncclGetUniqueId(&id), patience);
    ranks.broadcast(std::as_writable_bytes(std::span(&id, 1)));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    take("ncclCommInitRankConfig", ncclCommInitRankConfig(&comm_, ranks.ranks(), id, ranks.rank(), &config),
         std::max(patience, connection));
  }
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;

  /// Leaves together with the others, unless an error ends this rank.
  ~NcclRank() {
    if (std::uncaught_exceptions() > 0) abort();
    if (!comm_) return;
    try {
      take("ncclCommFinalize", ncclCommFinalize(comm_), patience_);
      ncclCommDestroy(comm_);
    } catch (const std::exception&) {  // the communicator is gone all the same
    }
  }

  void all_reduce(Tensor& x) {
    take("ncclAllReduce", ncclAllReduce(x.data(), x.data(), size_t(x.count()), ncclFloat32, ncclSum, comm_, stream_),
         patience_);
    ranks_.count({.all_reduces = 1, .bytes_sent = all_reduce_bytes(x.count(), ranks_.rank(), ranks_.ranks())});
  }

  void all_gather(Tensor& all, const Tensor& mine) {
    if (all.count() != mine.count() * ranks_.ranks()) throw ShapeError("all_gather: wanted room for every rank's part");
    take("ncclAllGather", ncclAllGather(mine.data(), all.data(), size_t(mine.count()), ncclFloat32, comm_, stream_),
         patience_);
    ranks_.count({.all_gathers = 1, .bytes_sent = (ranks_.ranks() - 1) * int64_t(mine.bytes())});
  }

  /// Returns when the stream has done all of it.
  void wait() {
    poll("a sum or a gathering", patience_, [this] {
      check_state("ncclCommGetAsyncError");
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaErrorNotReady) cudaGetLastError();  // it is no error; the next launch must not find it
      if (state != cudaErrorNotReady) CUDA_CHECK(state);
      return state == cudaSuccess;
    });
  }

 private:
  /// What a call of NCCL returned: where it goes on, waits for its end.
  void take(const char* call, ncclResult_t result, double seconds) {
    if (result == ncclInProgress) poll(call, seconds, [&] { return check_state(call) != ncclInProgress; });
    if (result != ncclSuccess && result != ncclInProgress) fail(call, result);
  }

  ncclResult_t check_state(const char* call) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
    if (asked != ncclSuccess) fail(call, asked);
    if (state != ncclSuccess && state != ncclInProgress) fail(call, state);
    return state;
  }

  void poll(const char* call, double seconds, const std::function<bool()>& done) {
    using Clock = std::chrono::steady_clock;
    const auto since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
    Clock::time_point begin = Clock::now(), last = begin;
    for (int64_t turn = 1; !done(); ++turn) {
      if (turn % 64 != 0) continue;
      std::this_thread::yield();
      if (since(last) > seconds / 2) begin = Clock::now();  // this process was stopped, and knows nothing of the others
      last = Clock::now();
      if (since(begin) > 0.02) usleep(100);
      if (since(begin) > seconds) give_up(call, seconds);
    }
  }

  /// Who is missing NCCL does not say; over `ranks_` a rank that does not answer is named.
  [[noreturn]] void give_up(const char* call, double seconds) {
    abort();
    const std::byte here[1] = {};
    std::vector<std::byte> all(size_t(ranks_.ranks()));
    ranks_.all_gather(all, std::span<const std::byte>(here));
    throw Error(fmt::format("NCCL: {} on rank {} has not ended for {} s, though all ranks answer each other", call,
                            ranks_.rank(), seconds));
  }

  [[noreturn]] void fail(const char* call, ncclResult_t result) {
    const char* told = ncclGetLastError(comm_);
    const std::string last = told ? told : "", line = last.substr(0, last.find('\n'));
    abort();
    throw Error(fmt::format("NCCL: {} on rank {}: {}{}{}", call, ranks_.rank(), ncclGetErrorString(result),
                            line.empty() ? "" : ": ", line));
  }

  void abort() {
    if (comm_) ncclCommAbort(comm_);
    comm_ = nullptr;
  }

  cudaStream_t stream_;
  Communicator& ranks_;
  double patience_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

Collectives nccl_collectives(cudaStream_t stream, Communicator& ranks, double patience, double connection) {
  const auto mine = std::make_shared<NcclRank>(stream, ranks, patience, connection);
  return {ranks.rank(), ranks.ranks(), [mine](Tensor& x) { mine->all_reduce(x); },
          [mine](Tensor& all, const Tensor& part) { mine->all_gather(all, part); }, [mine] { mine->wait(); }};
}

}  // namespace rungs

#else

namespace rungs {

Collectives nccl_collectives(cudaStream_t, Communicator&, double, double) {
  throw UsageError("this rungs was built without NCCL: install it and build again");
}

}  // namespace rungs

#endif
