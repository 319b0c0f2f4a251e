// Continuous batching with a paged KV cache on the device.
#include "batching/schedules.hpp"
#include "devices.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

TEST_CASE("on the device every request of a batch gets what it gets alone, from a paged cache") {
  const Folder folder;
  save_small_llama(folder.path());
  const auto model = load_model(cuda_ops(), folder.path());
  const auto requests = some_requests(*model, 48, kernels_are_checked() ? 6 : 12);
  // As on the CPU, and products of many rows are sums in another order than those of few.
  constexpr float tolerance = 0x1p-17f;
  const int64_t replays = cuda_traffic.replays;
  Counts counts;
  const int64_t schedules = kernels_are_checked() ? 3 : 10;
  for (uint64_t seed = 0; seed < uint64_t(schedules); ++seed) {
    CAPTURE(seed);
    run_schedule(*model, requests, seed, 48, tolerance, counts);
  }
  check_counts(counts, schedules);
  CHECK(cuda_traffic.replays - replays > 10 * schedules);  // of decoding steps, while blocks came and went
}

TEST_CASE("a block of a cache on the device is copied in every layer, and no other") {
  const Folder folder;
  save_small_llama(folder.path());
  const Config config = load_config(folder.path());
  CudaDevice& ops = cuda_ops();
  KvCache cache(ops, config, 1, {.blocks = 4, .block_size = 3});
  std::vector<Tensor> before;
  for (LayerCache& layer : cache.layers)
    for (Tensor* x : {&layer.k, &layer.v}) {
      before.push_back(random_tensor(x->shape(), unsigned(before.size() + 1)));
      ops.upload(*x, before.back().raw());
    }
  cache.copy_block(ops, 3, 1);
  size_t i = 0;
  for (LayerCache& layer : cache.layers)
    for (const Tensor* x : {&layer.k, &layer.v}) {
      Tensor after = from(ops, *x);
      for (int64_t block = 0; block < 4; ++block) {
        const ConstTensor want = std::as_const(before[i])[block == 3 ? 1 : block], got = std::as_const(after)[block];
        CHECK(std::memcmp(got.raw(), want.raw(), want.bytes()) == 0);
      }
      ++i;
    }
}

TEST_CASE("the naive backend says that it reads no paged cache") {
  const Folder folder;
  save_small_llama(folder.path());
  const auto model = load_model(naive_ops(), folder.path());
  BatchEngine engine(*model, {.blocks = 4, .block_size = 4, .max_running = 1, .max_rows = 4});
  engine.submit({.prompt = {1, 2, 3}, .max_tokens = 2});
  CHECK_THROWS_WITH_AS(engine.step(), "a paged KV cache: this backend reads contiguous ones only, cpu and cuda both",
                       UsageError);
}

TEST_SUITE_END();
