// Lesson 7: from logits to text, with the trained model.
#include <fmt/format.h>

#include <cmath>

#include "06_causal_mask/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/tap.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;
using Ids = std::vector<int32_t>;

int main(int argc, char** argv) {
  const DecoderCheckpoint model(weights_directory() / "decoder");
  const Vocabulary words(weights_directory() / "decoder" / "vocabulary.json");
  const char* text = argc > 1 ? argv[1] : "Once upon a time";
  Ids once = words.encode(text), ben = words.encode("Ben found a red");
  for (Ids* prompt : {&once, &ben}) prompt->insert(prompt->begin(), *words.bos());
  const int64_t T = 5, V = words.size();
  CpuOps ops;
  const int64_t P = int64_t(once.size());
  Tensor logits({P, V}), p({V});  // (P, V), (V)

  fmt::print("Row t of the logits scores what follows token t\n");
  lesson_06::decoder_forward(ops, logits, Tensor::view_of(once.data(), {P}, DType::i32), model.weights);
  for (size_t t = 0; t < once.size(); ++t) {
    lesson_07::probabilities(p, logits[int64_t(t)], {.temperature = 0});
    fmt::print("  row {}: after {:<7}{}\n", t, words.tokens()[size_t(once[t])], words.text_of(lesson_07::sample(p, 0)));
  }

  fmt::print("\nThe word after \"Ben found a red\", by probability\n");
  fmt::print("{:22}  drum   hat  ball train  boat   box  kite  book  bell  doll  rest\n", "");
  logits = Tensor({T, V});  // (T, V)
  lesson_06::decoder_forward(ops, logits, Tensor::view_of(ben.data(), {T}, DType::i32), model.weights);
  const std::pair<const char*, SampleOptions> settings[] = {
      {"temperature 1", {1}}, {"temperature 0.5", {0.5}},      {"temperature 0", {0}},
      {"top-k 5", {1, 5}},    {"top-p 0.5", {1, 0, 0.5}},      {"top-k 5, top-p 0.5", {1, 5, 0.5}},
      {"temperature 2", {2}}, {"temperature 2, k 10", {2, 10}}};
  for (const auto& [name, options] : settings) {
    lesson_07::probabilities(p, logits[T - 1], options);
    fmt::print("  {:<20}", name);
    double rest = 1;
    for (const int32_t id : words.encode("drum hat ball train boat box kite book bell doll"))
      fmt::print(" {:.3f}", p(id)), rest -= p(id);
    fmt::print(" {:.3f}\n", std::abs(rest));
  }

  const auto generate = [&](const Ids& ids, const SampleOptions& sampling, uint64_t seed, int64_t max_tokens = 16) {
    std::mt19937_64 random(seed);
    const GenerateOptions options{.sampling = sampling, .max_tokens = max_tokens};
    return lesson_07::generate(ops, model.weights, ids, options, [&] { return draw(random); });
  };
  const auto show = [&](const char* how, const Ids& made) {
    fmt::print("\n{}\n  {}{}\n", how, text, words.decode(made));
  };
  show("greedy", generate(once, {0}, 0));
  show("temperature 0.8, seed 1", generate(once, {0.8}, 1));
  show("temperature 0.8, seed 2", generate(once, {0.8}, 2));
  show("temperature 2, seed 1", generate(once, {2}, 1));
  show("temperature 2, k 10, seed 1", generate(once, {2, 10}, 1));
  Ids forgetful, newest = once;
  while (forgetful.size() < 16) {
    newest = generate(newest, {0}, 0, 1);
    forgetful.push_back(newest[0]);
  }
  show("greedy, but from the second step on only the newest token is fed", forgetful);

  int64_t fed = 0;  // rows of x, which the model taps once a call
  watch_taps([&](const std::string& name, const Tensor& x) { fed += name == "x" ? x.dim(0) : 0; });
  fmt::print("\nTokens fed after a prompt of {}\n", P);
  for (const int64_t n : {16, 32, 64, 128}) {
    fed = 0;
    generate(once, {0}, 0, n);
    fmt::print("  to make {:>3}: {:>5}\n", n, fed);
  }
}
