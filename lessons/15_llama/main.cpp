// Lesson 15: LLaMA from its own files, for many prompts at once.
#include <fmt/format.h>

#include "08_kv_cache/lesson.hpp"
#include "10_grouped_query/lesson.hpp"
#include "11_rope/lesson.hpp"
#include "12_rms_norm/lesson.hpp"
#include "13_swiglu/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/tap.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

using namespace rungs;
using lesson_15::Ids;

/// The library's operations, with what lessons 10 to 13 wrote in their place.
struct LessonOps : CpuOps {
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions&) override {
    lesson_10::sdpa(out, q, k, v);
  }
  void apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) override {
    for (int64_t n = 0; n < x.dim(0); ++n) {
      Tensor row = x.view_rows(n, 1);  // (1, H, D)
      lesson_11::apply_rope(row, rotary.cos, rotary.sin, position.at<int32_t>(n));
    }
  }
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override {
    lesson_12::rms_norm(out, x, converted(weight, DType::f32), epsilon);
  }
  void silu_mul(Tensor& gate, const Tensor& up) override { lesson_13::swiglu(gate, up); }
};

int main(int argc, char** argv) {
  LlamaCheckpoint model(weights_directory() / "stories");
  model.weights.rotary = lesson_15::rotary_table(model.config.rope, model.config.head_dim, model.config.max_seq_len);
  model.weights.output = lesson_15::output_weight(model.file, model.config);
  const auto words = load_tokenizer(weights_directory() / "stories");
  const auto generate = [&](Ops& ops, const std::vector<std::string>& texts, int64_t n) {
    std::vector<Ids> prompts;
    for (const std::string& text : texts) prompts.push_back(words->encode(text));
    const GenerateOptions options{.max_tokens = n, .stop = model.config.eos};
    return lesson_15::generate(
        ops, model.weights, model.config.bos, prompts, options, [](int64_t) { return 0.0; }, [](int64_t, int32_t) {});
  };

  const std::vector<std::string> texts = {argc > 1 ? argv[1] : "Once upon a time, there was a little", "One day,",
                                          "cat => chat\ndog =>"};
  std::string rows;
  watch_taps([&](const auto& name, const auto& x) { rows += name == "x" ? fmt::format(" {}", x.dim(0)) : ""; });
  CpuOps library;
  const std::vector<Ids> made = generate(library, texts, 24);
  watch_taps({});
  for (size_t b = 0; b < texts.size(); ++b) fmt::print("{} ...{}\n\n", texts[b], words->decode(made[b]));
  fmt::print("Rows in each call of the model:{}\n", rows);
  LessonOps own;
  fmt::print("On lessons 10 to 13, not the library: {}\n", generate(own, texts, 24) == made ? "the same" : "other");

  const std::string once = "Once upon a time";
  std::string all = once, newest = once, word = once;
  for (int step = 0; step < 12; ++step) {  // each time from an empty cache
    all += words->decode(generate(library, {all}, 1)[0]);
    newest += word = words->decode(generate(library, {word}, 1)[0]);
  }
  fmt::print("\nWithout a cache\n  every token fed     {}\n  the newest one fed  {}\n", all, newest);

  const auto late = [](const Tensor& t) { return t.view_rows(100, t.dim(0) - 100).copy(); };
  model.weights.rotary = {late(model.weights.rotary.cos), late(model.weights.rotary.sin)};
  fmt::print("\nEvery position 100 too high\n  rotary   {}{}\n", once, words->decode(generate(library, {once}, 12)[0]));
  DecoderCheckpoint part_1(weights_directory() / "decoder");
  const auto part_1_words = load_tokenizer(weights_directory() / "decoder");
  const Ids prompt = part_1_words->encode_with_specials("<bos>" + once);
  for (const bool shifted : {false, true}) {
    if (shifted) part_1.weights.position_embedding = late(part_1.weights.position_embedding);
    const Ids ids = lesson_08::generate(library, part_1.weights, prompt, {.max_tokens = 12}, [] { return 0.0; });
    fmt::print("  {}  {}{}\n", shifted ? "learned" : "at 0   ", once, part_1_words->decode(ids));
  }
}
