#include "rungs/parallel/parallel_llama.hpp"

#include <fmt/format.h>

#include <fstream>

#include "parallel/other_orders.hpp"
#include "rungs/analysis/memory.hpp"
#include "rungs/grader/case.hpp"
#include "rungs/model/convert.hpp"
#include "rungs/model/memory_estimate.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("parallel");

namespace {

/// Bytes of the files under a folder that this process has mapped.
int64_t mapped_bytes(const std::filesystem::path& folder) {
  std::ifstream maps("/proc/self/maps");
  int64_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(folder.string()) == std::string::npos) continue;
    const size_t dash = line.find('-');
    bytes += std::stoll(line.substr(dash + 1), nullptr, 16) - std::stoll(line, nullptr, 16);
  }
  return bytes;
}

}  // namespace

TEST_CASE("one rank computes what the model without ranks does, to the last bit") {
  const auto path = weights_directory() / "stories";
  const std::vector<Batch> calls = some_calls(load_config(path));
  const OfRank want = alone(path, calls, 2, 16), got = std::move(on_ranks(1, path, calls, 2, 16)[0]);
  for (size_t call = 0; call < calls.size(); ++call) CHECK(equal_bits(got.logits[call], want.logits[call]));
  CHECK(got.traffic.bytes_sent == 0);
}

// What differs is the order in which o and down sum. What another order does to these logits is measured on one rank,
// as the grader measures what f32 does; a split is one more order, and may be off by eight times as much.
TEST_CASE("random grouped-query shapes have the logits of one rank on 1, 2, 4 and 8 ranks, the same bits on all") {
  for (const auto& [heads, kv_heads, inner, vocabulary, tied] :
       {std::tuple{8, 8, 256, 128, false}, {8, 4, 260, 131, true}, {8, 2, 200, 100, false}, {8, 1, 96, 77, true}}) {
    const Folder folder;
    const Config shape = random_shape(heads, kv_heads, inner, vocabulary, tied);
    std::filesystem::create_directories(folder / "model");
    save_random_llama(folder / "model", shape, DType::f32, 11);
    const std::vector<Batch> calls = some_calls(shape);
    const OfRank one = alone(folder / "model", calls, 2, 16);
    const double reordered = difference_of_other_orders(folder, calls, one);
    REQUIRE(reordered > 0);
    for (const int ranks : {1, 2, 4, 8}) {
      CAPTURE(kv_heads);
      CAPTURE(ranks);
      const std::vector<OfRank> all = on_ranks(ranks, folder / "model", calls, 2, 16);
      CHECK(largest_difference(all[0].logits, one.logits) <= 8 * reordered);
      for (const OfRank& other : all)
        for (size_t call = 0; call < calls.size(); ++call) CHECK(equal_bits(other.logits[call], all[0].logits[call]));
    }
  }
}

TEST_CASE(
    "in the first layer, where nothing was summed over ranks yet, each rank's keys are those of one rank, exactly") {
  const Folder folder;
  const Config shape = random_shape(8, 2, 128, 64, false);
  save_random_llama(folder.path(), shape, DType::f32, 3);
  const std::vector<Batch> calls = some_calls(shape);
  const OfRank one = alone(folder.path(), calls, 2, 16);
  for (const int ranks : {2, 4, 8}) {
    const std::vector<OfRank> all = on_ranks(ranks, folder.path(), calls, 2, 16);
    for (int rank = 0; rank < ranks; ++rank) {
      const Tensor &got = all[size_t(rank)].cache.layers[0].k, &want = one.cache.layers[0].k;  // (B, capacity, G, D)
      const int64_t head = rank * 2 / ranks;
      for (int64_t d = 0; d < 32; ++d) {
        CHECK(got(0, 6, 0, d) == want(0, 6, head, d));
        CHECK(got(1, 2, 0, d) == want(1, 2, head, d));
      }
    }
  }
}

TEST_CASE("the story model on 2 and 6 ranks answers lesson 15's cases, which transformers computed") {
  int64_t compared = 0;
  for (const Case& c : load_cases(weights_directory() / "references/15_llama")) {
    if (c.input.run != "llama_forward" || c.input.model != "stories" || !c.error.empty() || c.input.in.count("calls") ||
        c.input.in.count("layers.0.k"))
      continue;
    Batch batch;
    for (int64_t n = 0; n < c.input["tokens"].count(); ++n) {
      batch.token.push_back(c.input["tokens"].at<int32_t>(n));
      batch.sequence.push_back(c.input["sequence"].at<int32_t>(n));
      batch.position.push_back(c.input["position"].at<int32_t>(n));
      batch.logit_rows.push_back(int32_t(n));
    }
    for (const int ranks : {2, 6}) {
      CAPTURE(c.input.name);
      CAPTURE(ranks);
      const auto all =
          on_ranks(ranks, weights_directory() / "stories", {batch}, 8, int64_t(c.input.scalar("capacity")));
      const Reference& want = *c.find("logits");
      CHECK(passes(compare(all[0].logits[0], want.value, want.tolerance())));
      ++compared;
    }
  }
  CHECK(compared > 0);
}

TEST_CASE(
    "weights and cache of a rank take to the byte what lesson 22 predicts, and its traffic what the formula says") {
  const auto check = [](const std::filesystem::path& path, int ranks, int64_t element) {
    const Config whole = load_config(path);
    const std::vector<Batch> calls = some_calls(whole);
    const std::vector<OfRank> all = on_ranks(ranks, path, calls, 2, 16);
    const GpuShare share = share_of_gpu(whole, 16, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      CAPTURE(ranks);
      CAPTURE(rank);
      const OfRank& mine = all[size_t(rank)];
      CHECK(mine.weight_bytes == share.parameters * element);
      int64_t cache = 0;
      for (const LayerCache& layer : mine.cache.layers) cache += int64_t(layer.k.bytes() + layer.v.bytes());
      CHECK(cache == 2 * share.cache_elements * 4);
      Traffic want;
      for (const Batch& call : calls) {
        const Traffic one = traffic_of_call(whole, call.rows(), int64_t(call.logit_rows.size()), rank, ranks);
        want.all_reduces += one.all_reduces, want.all_gathers += one.all_gathers, want.bytes_sent += one.bytes_sent;
      }
      CHECK(mine.traffic == want);
      CHECK(mine.traffic.all_reduces == int64_t(calls.size()) * (2 * whole.num_layers + 1));
    }
  };
  for (const int ranks : {1, 2}) check(weights_directory() / "stories", ranks, 2);
  const Folder folder;
  save_random_llama(folder.path(), random_shape(8, 2, 128, 64, false), DType::f32, 3);
  for (const int ranks : {1, 2, 4, 8}) check(folder.path(), ranks, 4);
}

TEST_CASE("a rank keeps only its part of the file mapped") {
  const Folder folder;
  Config shape = random_shape(8, 2, 2048, 4096, false);
  shape.hidden_size = 512;
  save_random_llama(folder.path(), shape, DType::f32, 3);
  const auto file_bytes = int64_t(std::filesystem::file_size(folder / "model.safetensors"));
  LlamaCheckpoint whole(folder.path());
  CHECK(mapped_bytes(folder.path()) >= file_bytes);
  split(whole, 1, 4);
  int64_t viewed = weight_bytes(whole.weights);  // all but what was copied
  for (const LlamaLayer& layer : whole.weights.layers) viewed -= int64_t(layer.o.bytes() + layer.down.bytes());
  const int64_t edges = (2 + 9 * shape.num_layers) * 2 * 4096;  // a page at each end of each part
  CHECK(mapped_bytes(folder.path()) <= viewed + edges);
  CHECK(mapped_bytes(folder.path()) < file_bytes / 3);
}

TEST_CASE("quantized weights part at the ends of blocks, and are refused where they cannot") {
  const Folder folder;
  Config shape = random_shape(8, 2, 256, 64, false);
  shape.hidden_size = 128;
  save_random_llama(folder.path(), shape, DType::f32, 3);
  for (const DType dtype : {DType::q8_0, DType::q4_0}) {
    const auto path = folder / (std::string(name_of(dtype)) + ".gguf");
    convert_llama(folder.path(), path, {.dtype = dtype});
    const std::vector<Batch> calls = some_calls(shape);
    const OfRank one = alone(path, calls, 2, 16);
    for (const int ranks : {2, 4, 8}) {
      CAPTURE(name_of(dtype));
      CAPTURE(ranks);
      const auto all = on_ranks(ranks, path, calls, 2, 16);
      // x is quantized after sums in another order, so that an element may round the other way: a step of int8 of it.
      double largest = 0;
      for (const Tensor& logits : one.logits)
        for (int64_t i = 0; i < logits.count(); ++i) largest = std::max(largest, std::fabs(double(logits.flat(i))));
      CHECK(largest_difference(all[0].logits, one.logits) <= largest / 127);
    }
  }
  const auto path = folder / "narrow.gguf";
  shape.head_dim = 16;
  std::filesystem::create_directories(folder / "narrow");
  save_random_llama(folder / "narrow", shape, DType::f32, 3);
  convert_llama(folder / "narrow", path, {.dtype = DType::q8_0});
  LlamaCheckpoint whole(path);
  CHECK_THROWS_WITH_AS(split(whole, 0, 8),
                       Contains("the quantized columns of o_proj cannot be dealt out to 8 ranks: wanted a multiple of "
                                "32 for each, found 16; fewer ranks or bf16 weights can"),
                       UsageError);
}

TEST_CASE("ranks that cannot share the heads are refused, with those that can") {
  const Config stories = load_config(weights_directory() / "stories");
  CHECK_THROWS_WITH_AS(check_ranks(stories, 4),
                       Contains("stories: 6 query heads and 2 key/value heads cannot be dealt out evenly to 4 ranks; "
                                "they can to 1, 2, 6"),
                       UsageError);
  LlamaCheckpoint whole(weights_directory() / "stories");
  CHECK_THROWS_AS(split(whole, 0, 3), UsageError);
}

TEST_SUITE_END();
