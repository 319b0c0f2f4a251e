// A LLaMA on several ranks whose tensors lie on a device, and what they sum goes through the host. Ranks are threads
// here.
#include "devices.hpp"
#include "kernels/backend/gpu_of_rank.hpp"
#include "parallel/other_orders.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

namespace {

/// As on the CPU: a split is one more order, and may be off by eight times what other orders are on one rank.
template <class Kind>
void check_ranks_on(const Config& shape) {
  const Folder folder;
  std::filesystem::create_directories(folder / "model");
  save_random_llama(folder / "model", shape, DType::f32, 11);
  const std::vector<Batch> calls = some_calls(shape);
  const OfRank one = alone<Kind>(folder / "model", calls, 2, 16);
  const double reordered = difference_of_other_orders<Kind>(folder, calls, one);
  REQUIRE(reordered > 0);
  for (const int ranks : {1, 2, 4}) {
    CAPTURE(shape.num_kv_heads);
    CAPTURE(ranks);
    const std::vector<OfRank> all = on_ranks<Kind>(ranks, folder / "model", calls, 2, 16);
    CHECK(largest_difference(all[0].logits, one.logits) <= 8 * reordered);
    for (int rank = 0; rank < ranks; ++rank) {
      const OfRank& mine = all[size_t(rank)];
      for (size_t call = 0; call < calls.size(); ++call) CHECK(equal_bits(mine.logits[call], all[0].logits[call]));
      Traffic want;
      for (const Batch& call : calls) {
        const Traffic t = traffic_of_call(shape, call.rows(), int64_t(call.logit_rows.size()), rank, ranks);
        want.all_reduces += t.all_reduces, want.all_gathers += t.all_gathers, want.bytes_sent += t.bytes_sent;
      }
      CHECK(mine.traffic == want);
      CHECK(mine.config.num_kv_heads == std::max<int64_t>(shape.num_kv_heads / ranks, 1));
    }
  }
}

}  // namespace

TEST_CASE("on the device 1, 2 and 4 ranks have the logits of one and send what the formula says" *
          doctest::skip(kernels_are_checked())) {
  for (const auto& [heads, kv_heads, inner, vocabulary, tied] :
       {std::tuple{8, 4, 260, 131, true}, {8, 2, 200, 100, false}, {8, 1, 96, 77, true}}) {
    const Config shape = random_shape(heads, kv_heads, inner, vocabulary, tied);
    check_ranks_on<NaiveCudaOps>(shape);
    check_ranks_on<CudaOps>(shape);
  }
}

TEST_CASE("two ranks that have the same GPU are found") {
  for (const int count : {1, 2, 3})
    run_ranks(count, [&](Communicator& ranks) {
      const auto two = ranks_of_one_gpu(ranks);  // all threads of a process begin with its first GPU
      CHECK(two == (count > 1 ? std::optional(std::pair(0, 1)) : std::nullopt));
    });
}

TEST_SUITE_END();
