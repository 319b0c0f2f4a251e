#include "model/llama_cases.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("model");

static CpuOps ops;

TEST_CASE("logits and caches of every LLaMA equal those of transformers") { check_logits_and_caches(ops, {}); }

TEST_CASE("without a cache a LLaMA gives the same logits and every tap that transformers shows") {
  check_taps(ops, {});
}

TEST_CASE("a LLaMA gives the logits of a prompt at every split and after a reset") { check_splits(ops, {}); }

TEST_CASE("a LLaMA continues a batch of prompts as transformers continues each alone") { check_generation(ops, {}); }

TEST_CASE("the trained LLaMA agrees with transformers up to the last position of its context") {
  check_last_position(ops, {});
}

TEST_CASE("the angles and the output projection of a LLaMA are those of transformers") {
  const auto as_f32 = [](const Tensor& t) {
    Tensor out(t.shape());
    for (int64_t i = 0; i < t.count(); ++i) out.flat(i) = float(t.value(i));
    return out;
  };
  for (const Case* c : cases("weights")) {
    const LlamaCheckpoint checkpoint(weights_directory() / c->input.model);
    CHECK(wrong(*c, "cos", checkpoint.weights.rotary.cos) == "");
    CHECK(wrong(*c, "sin", checkpoint.weights.rotary.sin) == "");
    CHECK(wrong(*c, "output", as_f32(checkpoint.weights.output)) == "");
  }
}

TEST_SUITE_END();
