// Lesson 27: one token judged with a pencil, a story that two models write, and what looking further ahead is worth.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/generate/sampler.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

using namespace rungs;
using lesson_27::Tokens;

/// 100,000 times: a token is drawn from q and judged by p.
static void count_tokens() {
  const float p_of[] = {0.5F, 0.25F, 0.25F}, q_of[] = {0.25F, 0.625F, 0.125F};
  const ConstTensor p_view = Tensor::view_of(p_of, {3}, DType::f32), q_view = Tensor::view_of(q_of, {3}, DType::f32);
  const Tensor &p = p_view, &q = q_view;  // (V)
  Tensor two({2, 3}), left({3});          // (k + 1, V), (k, V), (V)
  for (int64_t v = 0; v < 3; ++v) two(0, v) = p(v), two(1, v) = p(v);
  lesson_27::residual(left, p, q);
  std::mt19937_64 random(1);
  const auto next = [&] { return draw(random); };
  int64_t came[3] = {}, kept = 0;
  constexpr int64_t N = 100000;
  for (int64_t i = 0; i < N; ++i) {
    const Tokens drafted{sample({q.data(), 3}, next())};
    const lesson_27::Verdict v = lesson_27::verify(two, Tensor::view_of(q_of, {1, 3}, DType::f32), drafted, next);
    ++came[v.kept > 0 ? drafted[0] : v.next], kept += v.kept;
  }
  fmt::print("One token, {} times\n  token      p      q  min(1, p/q)  residual   came\n", N);
  for (int64_t v = 0; v < 3; ++v)
    fmt::print("  {}      {:>6.3f} {:>6.3f}  {:>11.2f}  {:>8.2f}  {:>5.2f}\n", "abc"[v], p(v), q(v),
               std::min(1.0F, p(v) / q(v)), left(v), double(came[v]) / double(N));
  fmt::print("  kept: {:.2f}, the sum of the smaller of p and q\n\n", double(kept) / double(N));
}

/// Tokens a call, where each drafted token is kept with the probability alpha.
static double predicted(double alpha, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i <= k; ++i) sum += std::pow(alpha, double(i));
  return sum;
}

/// A pair of trained models that know the same tokens.
struct Pair {
  CpuOps ops;
  std::unique_ptr<Model> model = load_model(ops, weights_directory() / "stories");
  std::unique_ptr<Model> draft = load_model(ops, weights_directory() / "stories_draft");
  std::unique_ptr<Tokenizer> words = load_tokenizer(weights_directory() / "stories");

  Tokens prompt_of(const std::string& text) const {
    Tokens prompt = words->encode(text);
    prompt.insert(prompt.begin(), *words->bos());
    return prompt;
  }

  Tokens write(const std::string& text, double temperature, int64_t k, uint64_t seed, lesson_27::Counts& counts) const {
    const GenerateOptions options{
        .sampling = {.temperature = temperature}, .max_tokens = 120, .stop = model->config().eos};
    const int64_t capacity = model->config().max_seq_len;
    lesson_27::Reader reader(*model, options.sampling, capacity), small(*draft, options.sampling, capacity);
    std::mt19937_64 random(seed);
    return lesson_27::generate(
        reader, small, prompt_of(text), options, k, [&] { return draw(random); }, counts);
  }
};

int main(int argc, char** argv) {
  count_tokens();

  const Pair pair;
  const std::string begin = argc > 1 ? argv[1] : "Once upon a time";
  lesson_27::Counts greedy;
  const Tokens made = pair.write(begin, 0, 4, 1, greedy);
  const Tokens alone =
      generate(*pair.model, {pair.prompt_of(begin)},
               {.sampling = {.temperature = 0}, .max_tokens = 120, .stop = pair.model->config().eos})[0];
  fmt::print("{}{}\n", begin, pair.words->decode(made));
  fmt::print("  {} tokens, {} calls of the model; {} without the draft: {}\n\n", made.size(), greedy.calls,
             alone.size(), made == alone ? "the same text" : "another text");

  fmt::print("20 stories at temperature 0.8\n  ahead   kept   tokens a call   predicted\n");
  double first = 0;
  for (const int64_t k : {1, 2, 3, 4, 6, 8}) {
    lesson_27::Counts counts;
    int64_t tokens = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) tokens += int64_t(pair.write(begin, 0.8, k, seed, counts).size());
    const double kept = double(counts.kept) / double(counts.drafted);
    if (k == 1) first = kept;
    fmt::print("  {:>5}  {:>4.0f}%  {:>14.1f}  {:>10.1f}\n", k, 100 * kept, double(tokens) / double(counts.calls),
               predicted(first, k));
  }

  fmt::print("\n");
  const double start = now();
  lesson_27::Counts counts;
  for (uint64_t seed = 0; seed < 20; ++seed) pair.write(begin, 0.8, 4, seed, counts);
  fmt::print("time for 20 stories: {:.2f} s\n", now() - start);
}
