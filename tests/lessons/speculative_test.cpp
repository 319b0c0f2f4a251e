// Lesson 27 beside the library's speculative decoding: the same draws give the same tokens.
#include "rungs/generate/speculative.hpp"

#include <random>

#include "27_speculative/lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

TEST_CASE("lesson 27: two models write the library's text, with as many calls and kept tokens") {
  CpuOps ops;
  const auto model = load_model(ops, weights_directory() / "stories");
  const auto small = load_model(ops, weights_directory() / "stories_draft");
  const std::vector<int32_t> prompt{model->config().bos, 100, 200, 300};
  for (const double temperature : {0.0, 0.7, 1.3})
    for (const int64_t k : {1, 4}) {
      GenerateOptions options{.sampling = {.temperature = temperature, .top_k = 40, .top_p = 0.95}, .seed = 5};
      options.max_tokens = 60;
      options.stop = model->config().eos;
      DraftReport report;
      const auto want = generate_drafted(*model, prompt, options, {small.get(), k}, report);

      std::mt19937_64 random(options.seed);
      const int64_t capacity = int64_t(prompt.size()) + options.max_tokens;
      lesson_27::Reader reader(*model, options.sampling, capacity), draft(*small, options.sampling, capacity);
      lesson_27::Counts counts;
      const auto next = [&] { return temperature > 0 ? draw(random) : 0; };
      CHECK(lesson_27::generate(reader, draft, prompt, options, k, next, counts) == want);
      CHECK(counts.drafted == report.drafted);
      CHECK(counts.kept == report.accepted);
      CHECK(counts.calls == report.calls);
    }
}
