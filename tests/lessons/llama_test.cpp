// Lesson 15 beside the library.
#include "15_llama/lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/grader/case.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tokenizer/tokenizer.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

TEST_CASE("lesson 15: the angles and the output projection equal the library's, whatever the scaling") {
  for (const char* name : {"gqa", "mha", "linear", "llama3", "newest_llama3"}) {
    INFO(name);
    const LlamaCheckpoint model(weights_directory() / "references/models" / (std::string("llama_") + name));
    const RopeTables rotary =
        lesson_15::rotary_table(model.config.rope, model.config.head_dim, model.config.max_seq_len);
    // cos and sin of double angles that two formulas give: they may round to neighbouring floats.
    CHECK(compare(rotary.cos, model.weights.rotary.cos, {4 * unit_roundoff}).pass);
    CHECK(compare(rotary.sin, model.weights.rotary.sin, {4 * unit_roundoff}).pass);
    CHECK(lesson_15::output_weight(model.file, model.config).raw() == model.weights.output.raw());
  }
}

TEST_CASE("lesson 15: the logits of rows of several sequences equal the library's") {
  CpuOps ops;
  const std::filesystem::path path = weights_directory() / "references/models/llama_gqa";
  const LlamaCheckpoint checkpoint(path);
  Llama library(ops, path);
  const Config& c = checkpoint.config;
  KvCache plain(ops, c, 2, c.max_seq_len), fast(ops, c, 2, c.max_seq_len);
  Batch batch;
  batch.add(1, std::vector<int32_t>{1, 9, 4, 7}, 0, false);
  batch.add(0, std::vector<int32_t>{1, 20}, 0, true);
  // Two float32 runs, each within the tolerance that its reference case gives to one.
  const Case one = load_case(weights_directory() / "references/15_llama/10_llama_forward_whole_context_gqa");
  const Tolerance tolerance{2 * one.find("logits")->absolute};
  for (int call = 0; call < 2; ++call) {
    Tensor got({int64_t(batch.logit_rows.size()), c.vocab_size}), want(got.shape());
    lesson_15::llama_forward(ops, got, batch, checkpoint.weights, plain);
    library.forward(want, batch, &fast);
    CHECK(compare(got, want, tolerance).pass);
    batch.clear();
    batch.add(0, std::vector<int32_t>{5}, 2, true);
    batch.add(1, std::vector<int32_t>{6, 8}, 4, true);
  }
}

TEST_CASE("lesson 15: generate gives the library's text for prompts of different lengths") {
  CpuOps ops;
  const std::filesystem::path path = weights_directory() / "stories";
  const LlamaCheckpoint checkpoint(path);
  Llama library(ops, path, {.max_rows = 64});
  const auto words = load_tokenizer(path);
  std::vector<lesson_15::Ids> texts, prompts;
  for (const char* text : {"Once upon a time, there was", "One day,", "cat => chat\ndog =>"}) {
    texts.push_back(words->encode(text));
    prompts.push_back(texts.back());
    prompts.back().insert(prompts.back().begin(), checkpoint.config.bos);
  }
  for (const double temperature : {0.0, 0.6}) {
    const GenerateOptions options{
        .sampling = {temperature, 0, 0.9}, .seed = 5, .max_tokens = 20, .stop = checkpoint.config.eos};
    std::vector<std::mt19937_64> random;
    for (size_t b = 0; b < texts.size(); ++b) random.emplace_back(options.seed + b);
    std::vector<lesson_15::Ids> shown(texts.size());
    const auto made = lesson_15::generate(
        ops, checkpoint.weights, checkpoint.config.bos, texts, options,
        [&](int64_t b) { return draw(random[size_t(b)]); },
        [&](int64_t b, int32_t token) { shown[size_t(b)].push_back(token); });
    CHECK(made == generate(library, prompts, options));
    CHECK(shown == made);
  }
}

TEST_SUITE_END();
