#include "rungs/analysis/memory.hpp"

#include "rungs/base/file.hpp"
#include "rungs/model/memory_estimate.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("model");

namespace {

/// A device with little memory.
struct SmallDevice final : CpuOps {
  explicit SmallDevice(int64_t bytes) : free(bytes) {}
  std::optional<int64_t> free_memory() override { return free; }
  Tensor allocate(const Shape& shape, DType dtype) override {
    allocated += int64_t(size_t(shape.count()) * bytes_of(dtype));
    return CpuOps::allocate(shape, dtype);
  }
  void upload_weights(ConstTensor& weights) override { uploaded += int64_t(weights.bytes()); }
  ConstTensor pack_weights(std::initializer_list<ConstTensor*> weights) override {
    for (const ConstTensor* weight : weights) uploaded += int64_t(weight->bytes());
    return {};
  }
  int64_t free, allocated = 0, uploaded = 0;
};

std::filesystem::path stories() { return weights_directory() / "stories"; }

/// What load_model says; "" when it loads.
std::string refusal(const Backend& backend, const LoadOptions& options) {
  try {
    load_model(backend, stories(), options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a device with too little memory is found out before loading, and which context would fit is said") {
  const LoadOptions options{.max_rows = 64, .sequences = 8, .capacity = 512};
  SmallDevice large(int64_t(1) << 30), small(9'000'000), tiny(1'000'000);
  CHECK(refusal(large, options) == "");
  CHECK(refusal(tiny, options) ==
        stories().string() +
            " needs 15.4 MiB of the device's memory, of which 977 KiB are free: its weights alone take "
            "4.13 MiB");
  const std::string sentence = refusal(small, options);
  CHECK(sentence.starts_with(stories().string() +
                             " needs 15.4 MiB of the device's memory, of which 8.58 MiB are free: "));
  CHECK(small.allocated <= 4 * 64 * 4);  // the places of rows, nothing else

  const std::string before = "a context of ";
  const int64_t fits = std::stoll(sentence.substr(sentence.find(before) + before.size()));
  CHECK(fits > 100);
  CHECK(refusal(small, {.max_rows = 64, .context = fits, .sequences = 8, .capacity = fits}) == "");
  CHECK(refusal(small, {.max_rows = 64, .context = fits + 1, .sequences = 8, .capacity = fits + 1}) != "");
}

TEST_CASE("an estimate that no number holds is refused") {
  Config c = load_config(stories());
  c.num_layers = 4096, c.num_kv_heads = c.num_heads = 1 << 20, c.head_dim = 1 << 10;
  CHECK_THROWS_WITH_AS(memory_estimate(c, 1 << 20, 1 << 24, 512), Contains("more than 63 bits"), UsageError);
}

TEST_CASE("what was said to be needed is what is allocated") {
  SmallDevice ops(int64_t(1) << 30);
  const auto model = load_model(ops, stories(), {.max_rows = 64, .context = 200, .sequences = 2, .capacity = 150});
  const KvCache cache(ops, model->config(), 2, 150);
  const Tensor logits = ops.allocate({2, model->config().vocab_size}, DType::f32);
  const MemoryEstimate f = memory_estimate(model->config(), 2, 150, 64);
  CHECK(ops.allocated == f.cache + f.scratch);
}

TEST_CASE("parameters and cache take to the byte what was predicted for them") {
  for (const std::string name : {"stories", "decoder"}) {
    CAPTURE(name);
    SmallDevice ops(int64_t(1) << 30);
    const auto model = load_model(ops, weights_directory() / name, {.max_rows = 16});
    const Config& c = model->config();
    const int64_t element = name == "stories" ? 2 : 4;  // bf16, f32
    CHECK(ops.uploaded == count_parameters(c).total() * element + memory_estimate(c, 1, c.max_seq_len, 16).rope_tables);

    const int64_t sequences = 3, context = 150;
    const KvCache cache(ops, c, sequences, context);
    size_t bytes = 0;
    for (const LayerCache& layer : cache.layers) bytes += layer.k.bytes() + layer.v.bytes();
    CHECK(int64_t(bytes) == sequences * cache_elements(c, context) * 4);
    CHECK(int64_t(bytes) == memory_estimate(c, sequences, context, 16).cache);
  }
}

TEST_CASE("a cache in fewer bits takes what was predicted for it, and one that cannot be is refused") {
  CpuOps ops;
  Config c = load_config(stories());
  for (const auto& [dtype, bytes_of_32] :
       {std::pair<DType, int64_t>{DType::f32, 128}, {DType::bf16, 64}, {DType::f16, 64}, {DType::q8_0, 34}}) {
    CAPTURE(name_of(dtype));
    const KvCache cache(ops, c, 3, 50, dtype);
    size_t bytes = 0;
    for (const LayerCache& layer : cache.layers) bytes += layer.k.bytes() + layer.v.bytes();
    CHECK(int64_t(bytes) == 3 * cache_elements(c, 50) / 32 * bytes_of_32);
    CHECK(int64_t(bytes) == memory_estimate(c, 3, 50, 16, dtype).cache);
  }
  CHECK_THROWS_WITH_AS(KvCache(ops, c, 1, 8, DType::q4_0), "a KV cache: wanted f32, bf16, f16 or q8_0, found q4_0",
                       UsageError);
  c.head_dim = 48;
  CHECK_THROWS_WITH_AS(KvCache(ops, c, 1, 8, DType::q8_0),
                       "a KV cache in q8_0: wanted heads of a multiple of 32, found 48 (head_dim)", UsageError);
}

TEST_SUITE_END();
