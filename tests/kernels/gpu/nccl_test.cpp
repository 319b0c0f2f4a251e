// Sums over GPUs by NCCL. Ranks are threads here, each with a GPU of its own; without two GPUs there is only one rank.
#include "kernels/backend/nccl.hpp"

#include <fmt/format.h>

#include "devices.hpp"
#include "kernels/backend/gpu_of_rank.hpp"
#include "parallel/other_orders.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

namespace {

constexpr double patience = 60;

int gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

/// Whether there are two GPUs, as two ranks of NCCL need them.
bool only_one_gpu() {
  if (gpus() > 1) return false;
  MESSAGE("SKIPPED: there is one GPU, and NCCL wants one for each rank");
  return true;
}

/// work(ops, ranks, collectives) on threads that have a GPU each.
void on_gpus(int count, const std::function<void(CudaOps&, Communicator&, const Collectives&)>& work) {
  run_ranks(
      count,
      [&](Communicator& ranks) {
        use_gpu_of_rank(ranks.rank());
        REQUIRE(why_not_nccl(ranks) == "");
        CudaOps ops;
        work(ops, ranks, nccl_collectives(ops.stream(), ranks, patience));
      },
      2 * patience);
}

void check_sum_and_gathering(int count) {
  on_gpus(count, [](CudaOps& ops, Communicator& ranks, const Collectives& nccl) {
    constexpr int64_t n = 1000;
    Tensor x({n});
    for (int64_t i = 0; i < n; ++i) x(i) = float(i + ranks.rank());
    Tensor sum = to(ops, x), all = ops.allocate({ranks.ranks() * n});
    nccl.all_gather(all, to(ops, x));
    nccl.all_reduce(sum);
    nccl.wait();
    const Tensor got = from(ops, sum), gathered = from(ops, all);
    const int R = ranks.ranks();
    for (const int64_t i : {int64_t(0), n / 2, n - 1}) {
      CHECK(got(i) == float(i * R + R * (R - 1) / 2));  // whole numbers: exact in any order
      for (int rank = 0; rank < R; ++rank) CHECK(gathered(rank * n + i) == float(i + rank));
    }
    CHECK(ranks.traffic().all_reduces == 1);
    CHECK(ranks.traffic().all_gathers == 3);  // and two of why_not_nccl
  });
}

/// Within what other orders of the sums do on one rank, see parallel_llama_test.cpp; `counts` that there are GPUs for.
void check_logits(const std::vector<int>& counts) {
  const Folder folder;
  const Config shape = random_shape(8, 2, 200, 100, false);
  std::filesystem::create_directories(folder / "model");
  save_random_llama(folder / "model", shape, DType::f32, 11);
  const std::vector<Batch> calls = some_calls(shape);
  const OfRank one = alone<CudaOps>(folder / "model", calls, 2, 16);
  const double reordered = difference_of_other_orders<CudaOps>(folder, calls, one);
  for (const int count : counts) {
    if (count > gpus()) continue;
    on_gpus(count, [&](CudaOps& ops, Communicator& ranks, const Collectives& nccl) {
      ParallelLlama model(ops, nccl, LlamaCheckpoint(folder / "model"), {.max_rows = 64});
      KvCache cache(ops, model.config(), 2, 16);
      std::vector<Tensor> logits;
      for (const Batch& batch : calls) logits.push_back(logits_of_call(model, batch, cache));
      CAPTURE(ranks.rank());
      CHECK(largest_difference(logits, one.logits) <= 8 * reordered);
    });
  }
}

}  // namespace

TEST_CASE("NCCL sums and gathers on one rank") { check_sum_and_gathering(1); }

TEST_CASE("NCCL sums and gathers over several GPUs") {
  if (!only_one_gpu()) check_sum_and_gathering(gpus());
}

TEST_CASE("two ranks with one GPU are told that NCCL refuses them") {
  run_ranks(2, [&](Communicator& ranks) {
    use_gpu_of_rank(0);
    CHECK(why_not_nccl(ranks) == "ranks 0 and 1 have the same GPU, which NCCL refuses");
  });
}

TEST_CASE("ranks have the logits of one through NCCL, on one rank") { check_logits({1}); }

TEST_CASE("ranks have the logits of one through NCCL, on several GPUs") {
  if (!only_one_gpu()) check_logits({2, 4, 8});
}

TEST_SUITE_END();
