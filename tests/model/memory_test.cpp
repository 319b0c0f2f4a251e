#include "model/footprint.hpp"
#include "ops/cpu_ops.hpp"
#include "support.hpp"
#include "tensor/file.hpp"

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
  int64_t free, allocated = 0;
};

const std::filesystem::path stories = weights_directory() / "stories";

/// What load_model says; "" when it loads.
std::string refusal(Ops& ops, const LoadOptions& options) {
  try {
    load_model(ops, stories, options);
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
        stories.string() +
            " needs 16.13 MB of the device's memory, of which 1.00 MB are free: its weights alone take "
            "4.33 MB");
  const std::string sentence = refusal(small, options);
  CHECK(sentence.starts_with(stories.string() + " needs 16.13 MB of the device's memory, of which 9.00 MB are free: "));
  CHECK(small.allocated <= 4 * 64 * 4);  // the places of rows, nothing else

  const std::string before = "a context of ";
  const int64_t fits = std::stoll(sentence.substr(sentence.find(before) + before.size()));
  CHECK(fits > 100);
  CHECK(refusal(small, {.max_rows = 64, .context = fits, .sequences = 8, .capacity = fits}) == "");
  CHECK(refusal(small, {.max_rows = 64, .context = fits + 1, .sequences = 8, .capacity = fits + 1}) != "");
}

TEST_CASE("what was said to be needed is what is allocated") {
  SmallDevice ops(int64_t(1) << 30);
  const auto model = load_model(ops, stories, {.max_rows = 64, .context = 200, .sequences = 2, .capacity = 150});
  const KvCache cache(ops, model->config(), 2, 150);
  const Tensor logits = ops.allocate({2, model->config().vocabulary}, DType::f32);
  const Footprint f = footprint(model->config(), 2, 150, 64);
  CHECK(ops.allocated == f.cache + f.scratch);
}

TEST_SUITE_END();
