#include "rungs/analysis/memory.hpp"

#include <fmt/format.h>

#include "rungs/base/file.hpp"
#include "rungs/base/units.hpp"
#include "rungs/checkpoint/shards.hpp"
#include "rungs/model/llama_layout.hpp"
#include "rungs/model/memory_estimate.hpp"
#include "rungs/model/presets.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("systems");

namespace {

const Config& llama() {
  static const Config config = *preset("Llama-3-8B");
  return config;
}

/// "10.458": as the course's tables print GiB.
std::string gibibytes(double bytes) { return fmt::format("{:.3f}", in_gib(bytes)); }

int64_t batch(int64_t context, int64_t gpus, Formula formula) {
  const GpuShare share = share_of_gpu(llama(), context, gpus, formula);
  return largest_batch(int64_t(80) << 30, 2 * share.parameters, 2 * share.cache_elements);
}

}  // namespace

TEST_CASE("the course's table of Llama 3 8B on 80 GB") {
  CHECK(count_parameters(llama(), Formula::course).total() == 5'614'665'728);
  CHECK(gibibytes(2.0 * 5'614'665'728) == "10.458");
  const std::tuple<int64_t, const char*, int64_t> rows[] = {
      {1024, "0.125", 556}, {2048, "0.250", 278}, {4096, "0.500", 139}};
  for (const auto& [context, cache, requests] : rows) {
    CHECK(gibibytes(2 * double(cache_elements(llama(), context))) == cache);
    CHECK(batch(context, 1, Formula::course) == requests);
  }
}

TEST_CASE("the course's table of tensor parallelism") {
  const std::tuple<int64_t, const char*, const char*, int64_t> rows[] = {
      {2, "5.229", "0.062", 1196}, {4, "2.615", "0.031", 2476}, {8, "1.307", "0.016", 5036}};
  for (const auto& [gpus, parameters, cache, requests] : rows) {
    const GpuShare share = share_of_gpu(llama(), 1024, gpus, Formula::course);
    CHECK(gibibytes(2 * double(share.parameters)) == parameters);
    CHECK(gibibytes(2 * double(share.cache_elements)) == cache);
    CHECK(batch(1024, gpus, Formula::course) == requests);
  }
}

TEST_CASE("the exact table of Llama 3 8B on 80 GB") {
  CHECK(count_parameters(llama()).total() == 8'030'261'248);
  CHECK(gibibytes(2.0 * 8'030'261'248) == "14.958");
  CHECK(batch(1024, 1, Formula::exact) == 520);
  CHECK(batch(2048, 1, Formula::exact) == 260);
  CHECK(batch(4096, 1, Formula::exact) == 130);
  CHECK(batch(1024, 2, Formula::exact) == 1160);
  CHECK(batch(1024, 4, Formula::exact) == 2440);
  CHECK(batch(1024, 8, Formula::exact) == 5000);
}

TEST_CASE("published models have as many parameters as their cards say") {
  const std::pair<const char*, int64_t> published[] = {{"Llama-2-7B", 6'738'415'616},   {"Llama-2-13B", 13'015'864'320},
                                                       {"Llama-2-70B", 68'976'648'192}, {"Llama-3-8B", 8'030'261'248},
                                                       {"Llama-3-70B", 70'553'706'496}, {"Llama-3.2-1B", 1'235'814'400},
                                                       {"Llama-3.2-3B", 3'212'749'824}, {"TinyLlama", 1'100'048'384}};
  for (const auto& [name, parameters] : published) {
    CAPTURE(name);
    CHECK(count_parameters(*preset(name)).total() == parameters);
  }
}

TEST_CASE("what is counted is what the files in weights hold") {
  int models = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(weights_directory())) {
    if (entry.path().filename() != "config.json") continue;
    const std::filesystem::path directory = entry.path().parent_path();
    if (!std::filesystem::exists(directory / "model.safetensors")) continue;  // a shape alone
    CAPTURE(directory.string());
    int64_t numbers = 0;
    const TensorSet tensors = open_shards(directory);
    for (const std::string& name : tensors.names()) numbers += tensors.get(name).count();
    CHECK(count_parameters(load_config(directory)).total() == numbers);
    ++models;
  }
  CHECK(models >= 8);
}

TEST_CASE("the shares of tensor parallelism are whole heads, and every GPU has all norms") {
  const int64_t norms = count_parameters(llama()).norms;
  for (const int64_t gpus : {2, 4, 8})
    CHECK(gpus * (share_of_gpu(llama(), 1024, gpus).parameters - norms) == count_parameters(llama()).total() - norms);
  // 16 GPUs, 8 heads: two GPUs have the same head, so the cache of each is no smaller than with 8.
  CHECK(share_of_gpu(llama(), 1024, 16).cache_elements == share_of_gpu(llama(), 1024, 8).cache_elements);
  CHECK_THROWS_WITH_AS(share_of_gpu(llama(), 1024, 3), "tp: 32 query heads cannot be dealt out evenly to 3 GPUs",
                       UsageError);
  Config six = llama();
  six.num_heads = 24, six.num_kv_heads = 6;
  CHECK_THROWS_WITH_AS(share_of_gpu(six, 1024, 4), "tp: 6 key/value heads cannot be dealt out evenly to 4 GPUs",
                       UsageError);
}

TEST_CASE("a batch is rounded down, and none fits where the parameters do not") {
  CHECK(largest_batch(100, 40, 20) == 3);
  CHECK(largest_batch(100, 40, 21) == 2);
  CHECK(largest_batch(100, 40, 61) == 0);
  CHECK(largest_batch(100, 101, 1) == 0);
}

TEST_CASE("counts that do not fit in 63 bits are refused") {
  Config huge = llama();
  huge.num_layers = huge.hidden_size = huge.intermediate_size = int64_t(1) << 40;
  CHECK_THROWS_WITH_AS(count_parameters(huge), "these sizes make a count of more than 63 bits", UsageError);
  CHECK_THROWS_AS(cache_elements(huge, int64_t(1) << 40), UsageError);
  Config wide = llama();  // each part fits, their sum does not
  wide.num_layers = 1, wide.hidden_size = int64_t(1) << 31, wide.vocab_size = (int64_t(1) << 32) - 1,
  wide.intermediate_size = 1;
  CHECK_THROWS_AS(count_parameters(wide), UsageError);
}
