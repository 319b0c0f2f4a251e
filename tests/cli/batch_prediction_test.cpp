#include "batch_prediction.hpp"

#include "cli.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

namespace {

/// Notes what it is asked, and answers nothing but zeros.
struct Listener final : Model {
  explicit Listener(const LoadOptions& plan) : rows(plan.max_rows) {
    shape.max_seq_len = 4096, shape.num_layers = 1, shape.vocab_size = 3,
    shape.num_heads = shape.num_kv_heads = shape.head_dim = 1;
  }
  const Config& config() const override { return shape; }
  const Backend& backend() const override { return all; }
  int64_t max_rows() const override { return rows; }
  void forward(Tensor& logits, const Batch& batch, KvCache*) override {
    std::fill_n(logits.data(), logits.count(), 0.0f);
    const auto sequences = int64_t(batch.logit_rows.size());
    calls.push_back({sequences, batch.rows() / sequences, batch.position[0]});
  }
  Config shape;
  CpuOps cpu;
  Backend all = cpu;
  int64_t rows;
  std::vector<Call> calls;
};

}  // namespace

TEST_CASE("the calls that are predicted are those that generate makes") {
  for (const BatchRun& run : {BatchRun{1, 5, 3, true}, BatchRun{1, 5, 3, false}, BatchRun{3, 256, 4, true},
                              BatchRun{16, 256, 3, false}, BatchRun{16, 256, 3, true}, BatchRun{2, 300, 2, true},
                              BatchRun{2, 1100, 3, true}, BatchRun{3, 1100, 3, false}, BatchRun{700, 1, 3, true}}) {
    CAPTURE(run.batch);
    CAPTURE(run.input);
    CAPTURE(run.cache);
    Listener model(run.plan());
    generate(model, std::vector<std::vector<int32_t>>(size_t(run.batch), std::vector<int32_t>(size_t(run.input))),
             run.options());
    const std::vector<Call> predicted = calls_of(run);
    REQUIRE(predicted.size() == model.calls.size());
    for (size_t i = 0; i < predicted.size(); ++i) {
      CAPTURE(i);
      CHECK(predicted[i].batch == model.calls[i].batch);
      CHECK(predicted[i].rows == model.calls[i].rows);
      CHECK(predicted[i].past == model.calls[i].past);
    }
  }
}

TEST_CASE("the predicted time is that of each operation under the roof, and no less than computing everything takes") {
  Config c;
  c.num_layers = 2, c.hidden_size = 64, c.num_heads = c.num_kv_heads = 4, c.head_dim = 16, c.intermediate_size = 128,
  c.vocab_size = 100;
  const BatchRun run{2, 20, 3, true};
  const DevicePeak computing{"", 1e9, 1e30, ""}, reading{"", 1e30, 1e9, ""}, both{"", 1e9, 1e9, ""};
  Cost cost;
  for (const Call& call : calls_of(run)) cost = cost + total(operations(c, call, {2, 4, 4}));
  CHECK(predict_seconds(c, run, DType::bf16, computing) == doctest::Approx(cost.flops / 1e9));
  CHECK(predict_seconds(c, run, DType::bf16, reading) == doctest::Approx(cost.bytes / 1e9));
  CHECK(predict_seconds(c, run, DType::bf16, both) >= std::max(cost.flops, cost.bytes) / 1e9);
}

TEST_SUITE_END();
