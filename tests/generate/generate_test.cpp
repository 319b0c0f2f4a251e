#include "rungs/generate/generate.hpp"

#include "generate/tiny_model.hpp"
#include "rungs/measure/allocations.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("text");

using Tokens = std::vector<int32_t>;

namespace {

struct Loaded {
  TinyModel files;
  CpuOps ops;
  std::unique_ptr<Model> model = load_model(ops, files.path);
};

/// Counts the calls and rows that reach a model.
struct CountingModel final : Model {
  CountingModel(Model& of, int64_t most_rows) : inner(of), most(most_rows) {}
  const Config& config() const override { return inner.config(); }
  const Backend& backend() const override { return inner.backend(); }
  int64_t max_rows() const override { return most; }
  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override {
    rows.push_back(batch.rows());
    inner.forward(logits, batch, cache);
  }
  Model& inner;
  int64_t most;
  std::vector<int64_t> rows;
};

}  // namespace

static const std::vector<Tokens> prompts = {{0, 24, 25}, {0}, {0, 24, 25, 26, 27, 24, 28, 29}, {0, 5, 6, 7, 8}};

TEST_CASE("the cache does not change the tokens") {
  Loaded m;
  for (const double temperature : {0.0, 1.0})
    for (const Tokens& prompt : prompts) {
      GenerateOptions options{.sampling = {.temperature = temperature}, .seed = 3, .max_tokens = 16};
      const auto with = generate(*m.model, {prompt}, options);
      options.cache = false;
      CHECK(with == generate(*m.model, {prompt}, options));
      CHECK(with[0].size() == 16);
    }
}

TEST_CASE("a batch of prompts of different length gives each what it gets alone") {
  Loaded m;
  for (const bool cache : {true, false})
    for (const double temperature : {0.0, 0.8}) {
      GenerateOptions options{.sampling = {.temperature = temperature, .top_k = 9, .top_p = 0.9},
                              .seed = 11,
                              .max_tokens = 14,
                              .cache = cache};
      const auto together = generate(*m.model, prompts, options);
      for (size_t i = 0; i < prompts.size(); ++i) {
        CHECK(together[i] == generate(*m.model, {prompts[i]}, options)[0]);
        ++options.seed;
      }
    }
}

TEST_CASE("all unfinished sequences share one call a step") {
  Loaded m;
  CountingModel model(*m.model, 24);
  generate(model, prompts, {.max_tokens = 3});
  CHECK(model.rows == std::vector<int64_t>{3 + 1 + 8 + 5, 4, 4});
  model.rows.clear();
  generate(model, prompts, {.max_tokens = 2, .cache = false});
  CHECK(model.rows == std::vector<int64_t>{3 + 1 + 8 + 5, 4 + 2 + 9 + 6});
}

TEST_CASE("more rows than the model has room for are fed in several calls") {
  Loaded m;
  CountingModel model(*m.model, 9);
  const auto together = generate(*m.model, prompts, {.max_tokens = 5});
  CHECK(generate(model, prompts, {.max_tokens = 5}) == together);
  CHECK(model.rows == std::vector<int64_t>{3 + 1, 8, 5, 4, 4, 4, 4});
}

TEST_CASE("each of the stop tokens ends its sequence and is kept") {
  Loaded m;
  const auto all = generate(*m.model, prompts, {.sampling = {.temperature = 1}, .seed = 5, .max_tokens = 12});
  const int32_t stop = all[2][4];
  CountingModel model(*m.model, 24);
  const auto stopped =
      generate(model, prompts, {.sampling = {.temperature = 1}, .seed = 5, .max_tokens = 12, .stop = {29, stop}});
  size_t longest = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto end = std::find(all[i].begin(), all[i].end(), stop);
    CHECK(stopped[i] == Tokens(all[i].begin(), end == all[i].end() ? end : end + 1));
    longest = std::max(longest, stopped[i].size());
  }
  CHECK(model.rows.size() == longest);
  CHECK(model.rows.back() < 4);
}

TEST_CASE("the steps show what was fed, and where") {
  Loaded m;
  struct Seen {
    int64_t sequence, number, previous, current;
    Tokens fed;
    bool operator==(const Seen&) const = default;
  };
  const auto steps = [&](bool cache) {
    std::vector<Seen> seen;
    Tokens drawn;
    const auto result = generate(*m.model, {{0, 24}}, {.max_tokens = 3, .cache = cache}, [&](const Step& s) {
      seen.push_back({s.sequence, s.number, s.past, s.position, {s.tokens.begin(), s.tokens.end()}});
      drawn.push_back(s.token);
    });
    CHECK(result[0] == drawn);
    return std::pair(seen, drawn);
  };
  const auto [with, t] = steps(true);
  CHECK(with == std::vector<Seen>{{0, 0, 0, 2, {0, 24}}, {0, 1, 2, 3, {t[0]}}, {0, 2, 3, 4, {t[1]}}});
  const auto [without, u] = steps(false);
  CHECK(without ==
        std::vector<Seen>{{0, 0, 0, 2, {0, 24}}, {0, 1, 0, 3, {0, 24, t[0]}}, {0, 2, 0, 4, {0, 24, t[0], t[1]}}});
}

TEST_CASE("a long prompt is fed in pieces that the model has room for") {
  Loaded m;
  CountingModel model(*m.model, 3);
  const GenerateOptions options{.max_tokens = 5};
  CHECK(generate(model, prompts, options) == generate(*m.model, prompts, options));
  CHECK(std::vector(model.rows.begin(), model.rows.begin() + 7) == std::vector<int64_t>{3, 1, 3, 3, 2, 3, 2});
}

TEST_CASE("a sequence ends where the context ends") {
  Loaded m;
  const Tokens prompt(10, 24), full(24, 24), longer(25, 24);
  for (const bool cache : {true, false}) {
    CHECK(generate(*m.model, {prompt}, {.max_tokens = 15, .cache = cache})[0].size() == 14);
    CHECK(generate(*m.model, {prompt}, {.max_tokens = 15, .cache = cache, .context = 12})[0].size() == 2);
    const auto both = generate(*m.model, {prompt, {0}}, {.max_tokens = 20, .cache = cache});
    CHECK(both[0].size() == 14);
    CHECK(both[1].size() == 20);
  }
  const auto says = [&](const std::vector<Tokens>& of, const GenerateOptions& options, const char* sentence) {
    CHECK_THROWS_WITH_AS(generate(*m.model, of, options), sentence, UsageError);
  };
  says({{0}, full}, {}, "prompt 2 has 24 tokens, which leaves no room for one more in the context of 24");
  says({longer}, {}, "the prompt has 25 tokens, which leaves no room for one more in the context of 24");
  says({prompt}, {.context = 8}, "the prompt has 10 tokens, which leaves no room for one more in the context of 8");
  says({prompt}, {.context = 25}, "context: wanted 1 to 24, which is the model's, found 25");
  says({prompt}, {.context = -1}, "context: wanted 1 to 24, which is the model's, found -1");
  says({{0}, {}}, {}, "prompt 2 has no tokens");
  says({}, {}, "wanted at least one prompt, found none");
  says({prompt}, {.max_tokens = 0}, "max-tokens: wanted at least 1, found 0");
  says({{0, 30}}, {}, "token id 30 at position 1 is not in [0, 30)");
  says({{0, -1}}, {}, "token id -1 at position 1 is not in [0, 30)");
}

TEST_CASE("a pick draws instead of the sampler, from the logits and the next number") {
  Loaded m;
  std::vector<double> draws;
  const auto pick = [&](std::span<const float> logits, const SampleOptions& options, double draw) {
    CHECK(logits.size() == 30);
    CHECK(options.temperature == 0.5);
    draws.push_back(draw);
    return int32_t(draws.size() + 4);
  };
  const GenerateOptions options{.sampling = {.temperature = 0.5}, .seed = 7, .max_tokens = 3, .pick = pick};
  CHECK(generate(*m.model, {{0}}, options)[0] == Tokens{5, 6, 7});
  std::mt19937_64 random(7);
  for (const double drawn : draws) CHECK(drawn == draw(random));
}

TEST_CASE("with the cache and one prompt nothing is allocated after the first step") {
  Loaded m;
  for (const SampleOptions& sampling : {SampleOptions{}, SampleOptions{.temperature = 1, .top_k = 9, .top_p = 0.9}}) {
    std::vector<int64_t> after;
    after.reserve(24);
    generate(*m.model, {{0, 24}}, {.sampling = sampling, .max_tokens = 22},
             [&](const Step&) { after.push_back(allocations()); });
    CHECK(after.front() > 0);
    CHECK(after.back() == after.front());
  }
}

TEST_CASE("weights that are not finite: the first tap that is not finite is named") {
  const TinyModel files;
  files.break_weight("layers.1.attention.q.weight");
  CpuOps ops;
  const auto model = load_model(ops, files.path);
  const std::string sentence =
      "layers.1.q is the first tensor that is not finite: the weights in " + files.path.string() + " are broken";
  for (const bool cache : {true, false})
    CHECK_THROWS_WITH_AS(generate(*model, {{0, 24}}, {.max_tokens = 4, .cache = cache}), sentence.c_str(), Error);
}

TEST_SUITE_END();
