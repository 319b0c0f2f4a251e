#include "rungs/batching/batch_engine.hpp"

#include <fmt/format.h>

#include "batching/schedules.hpp"
#include "generate/tiny_model.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("batching");

namespace {

/// f32 sums of another order: a chunk's products group the same terms in another way. Logits here are near one, sums
/// have at most 64 terms, and each of the two runs that are compared may be off by what one such sum may, 8·√64·2⁻²⁴.
/// (Found: 0.55 of both together, with AVX2 and under the sanitizers, where the compiler fuses other multiplications.)
constexpr float logit_tolerance = 2 * 0x1p-18f;

struct Loaded {
  TinyModel files;
  CpuOps ops;
  std::unique_ptr<Model> model = load_model(ops, files.path);
};

/// A model whose call fails when it is told to.
struct FailingModel final : Model {
  explicit FailingModel(Model& of) : inner(of) {}
  const Config& config() const override { return inner.config(); }
  const Backend& backend() const override { return inner.backend(); }
  int64_t max_rows() const override { return inner.max_rows(); }
  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override {
    if (fails) throw Error("the model fails");
    inner.forward(logits, batch, cache);
  }
  Model& inner;
  bool fails = false;
};

/// All tokens that come until nothing is left to do, by request.
std::map<int64_t, Tokens> run_to_the_end(BatchEngine& engine) {
  std::map<int64_t, Tokens> texts;
  while (!engine.idle())
    for (const DrawnToken& d : engine.step()) texts[d.id].push_back(d.token);
  return texts;
}

}  // namespace

TEST_CASE("whoever joins, leaves, waits or shares: every request of a decoder gets what it gets alone") {
  Loaded m;
  const auto requests = some_requests(*m.model, 24);
  Counts counts;
  constexpr int64_t schedules = 2000;
  for (uint64_t seed = 0; seed < schedules; ++seed) {
    CAPTURE(seed);
    run_schedule(*m.model, requests, seed, 24, logit_tolerance, counts);
  }
  check_counts(counts, schedules);
}

TEST_CASE("whoever joins, leaves, waits or shares: every request of a LLaMA gets what it gets alone") {
  const Folder folder;
  save_small_llama(folder.path());
  CpuOps ops;
  const auto model = load_model(ops, folder.path());
  const auto requests = some_requests(*model, 48);
  Counts counts;
  constexpr int64_t schedules = 1000;
  for (uint64_t seed = 0; seed < schedules; ++seed) {
    CAPTURE(seed);
    run_schedule(*model, requests, seed, 48, logit_tolerance, counts);
  }
  check_counts(counts, schedules);
}

TEST_CASE("a call of the model that fails gives back every block that was taken for it, and can be repeated") {
  Loaded m;
  FailingModel model(*m.model);
  BatchEngine engine(model, {.blocks = 12, .block_size = 2, .max_running = 2, .max_rows = 4});
  const Tokens one = {0, 5, 6, 7, 8, 9, 10}, two = {0, 24};
  engine.submit({.prompt = one, .max_tokens = 5});
  engine.submit({.prompt = two, .max_tokens = 5});
  std::map<int64_t, Tokens> texts;
  for (int step = 0; !engine.idle(); ++step) {
    model.fails = true;
    std::vector<int64_t> computed;
    for (const auto& [id, r] : engine.scheduler().requests()) computed.push_back(r.computed);
    CHECK_THROWS_WITH_AS(engine.step(), "the model fails", Error);
    check_invariants(engine.scheduler());
    size_t i = 0;
    for (const auto& [id, r] : engine.scheduler().requests()) {
      CHECK(r.computed == computed[i++]);
      CHECK(int64_t(r.blocks.size()) == (r.computed + 1) / 2);
    }
    model.fails = false;
    for (const DrawnToken& d : engine.step()) texts[d.id].push_back(d.token);
  }
  CHECK(texts[0] == generate(*m.model, {one}, {.max_tokens = 5})[0]);
  CHECK(texts[1] == generate(*m.model, {two}, {.max_tokens = 5})[0]);
}

TEST_CASE("where blocks run out the newest request gives way, and its text is the same") {
  Loaded m;
  BatchEngine engine(*m.model, {.blocks = 6, .block_size = 4, .max_running = 2, .max_rows = 8});
  const Tokens one = {0, 5, 6}, two = {0, 24, 25};
  engine.submit({.prompt = one, .max_tokens = 20});
  engine.submit({.prompt = two, .sampling = {.temperature = 1}, .seed = 4, .max_tokens = 20});
  int64_t newest_stepped_back = 0;
  std::map<int64_t, Tokens> texts;
  while (!engine.idle()) {
    for (const DrawnToken& d : engine.step()) texts[d.id].push_back(d.token);
    for (const auto& [id, r] : engine.scheduler().requests()) {
      if (id == 0) CHECK(r.preempted == 0);
      newest_stepped_back += id == 1 && r.preempted > 0;
    }
  }
  CHECK(newest_stepped_back > 0);
  CHECK(texts[0] == generate(*m.model, {one}, {.max_tokens = 20})[0]);
  CHECK(texts[1] == generate(*m.model, {two}, {.sampling = {.temperature = 1}, .seed = 4, .max_tokens = 20})[0]);
}

TEST_CASE("a long prompt is fed in chunks while others decode") {
  Loaded m;
  BatchEngine engine(*m.model, {.blocks = 12, .block_size = 4, .max_running = 2, .max_rows = 4});
  engine.submit({.prompt = {0, 5}, .max_tokens = 8});
  CHECK(engine.step().size() == 1);
  engine.submit({.prompt = Tokens(12, 24), .max_tokens = 2});
  for (int chunk = 0; chunk < 3; ++chunk) {  // 3 tokens of it beside one of the other
    const auto drawn = engine.step();
    CHECK(drawn.size() == 1);
    CHECK(drawn[0].id == 0);
    CHECK(engine.scheduler().requests().at(1).computed == 3 * (chunk + 1));
  }
  CHECK(engine.step().size() == 2);
}

TEST_CASE("beside others that wait for their next token prompts have few rows, and all where nobody waits") {
  Loaded m;
  BatchEngine engine(*m.model, {.blocks = 20, .block_size = 4, .max_running = 3, .max_rows = 16, .prompt_rows = 3});
  engine.submit({.prompt = Tokens(12, 24), .max_tokens = 9});
  CHECK(engine.step().size() == 1);
  CHECK(engine.stats().rows == 12);  // alone
  engine.submit({.prompt = Tokens(4, 25), .max_tokens = 1});
  engine.submit({.prompt = Tokens(5, 26), .max_tokens = 1});
  std::string rows;
  for (int64_t before = 12; !engine.idle(); before = engine.stats().rows) {
    engine.step();
    rows += fmt::format("{} ", engine.stats().rows - before);
  }
  CHECK(rows == "4 5 3 1 1 1 1 1 ");  // 3 of the second; its last token, from which it decodes, and 3 of the third; 2
}

TEST_CASE("nobody joins a static batch until all have ended, and whoever waits takes a free slot of a continuous one") {
  Loaded m;
  for (const bool continuous : {false, true}) {
    BatchEngine engine(*m.model,
                       {.blocks = 30, .block_size = 4, .max_running = 2, .max_rows = 8, .continuous = continuous});
    for (const int64_t tokens : {2, 6, 2}) engine.submit({.prompt = {0, 5}, .max_tokens = tokens});
    engine.step(), engine.step(), engine.step();
    CHECK(engine.scheduler().running().contains(2) == continuous);
    run_to_the_end(engine);
    CHECK(engine.stats().steps == (continuous ? 6 : 8));
  }
}

TEST_CASE("what prompts begin with is computed once, and a shared block is copied before it is written") {
  Loaded m;
  BatchEngine engine(*m.model, {.blocks = 12, .block_size = 4, .max_running = 3, .max_rows = 24});
  const Tokens prompt = {0, 5, 6, 7, 8, 9, 10, 11};  // two whole blocks
  const Tokens want = generate(*m.model, {prompt}, {.max_tokens = 6})[0];
  engine.submit({.prompt = prompt, .max_tokens = 6});
  engine.step();
  CHECK(engine.stats().rows == 8);
  engine.submit({.prompt = prompt, .max_tokens = 6});
  engine.step();
  CHECK(engine.stats().rows == 8 + 1 + 1);  // only its last token was fed
  CHECK(engine.stats().copies == 1);
  const auto& [first, second] = std::pair(engine.scheduler().requests().at(0), engine.scheduler().requests().at(1));
  CHECK(first.blocks[0] == second.blocks[0]);
  CHECK(first.blocks[1] != second.blocks[1]);
  CHECK(engine.scheduler().pool().holders(first.blocks[0]) == 2);
  Tokens rest(want.begin() + 2, want.end());
  auto texts = run_to_the_end(engine);
  CHECK(texts[0] == rest);
  CHECK(texts[1] == Tokens(want.begin() + 1, want.end()));
  engine.submit({.prompt = prompt, .max_tokens = 6});  // nobody holds the blocks now
  CHECK(run_to_the_end(engine)[2] == want);
  CHECK(engine.scheduler().found_tokens() == 14);
}

TEST_CASE("a request for as many tokens as fit goes on until the cache is full, or the context") {
  Loaded m;
  const auto drawn = [&](int64_t blocks, int64_t length) {
    BatchEngine engine(*m.model, {.blocks = blocks, .block_size = 4, .max_running = 2, .max_rows = 8});
    engine.submit({.prompt = Tokens(size_t(length), 5), .max_tokens = as_many_as_fit});
    return int64_t(run_to_the_end(engine)[0].size());
  };
  CHECK(drawn(2, 3) == 6);  // 8 in the cache, and the last one, which is never fed
  CHECK(drawn(2, 8) == 1);
  CHECK(drawn(6, 3) == 21);  // the context is 24
  CHECK(drawn(9, 3) == 21);
}

TEST_CASE("what can never be served gets one sentence") {
  Loaded m;
  BatchEngine engine(*m.model, {.blocks = 2, .block_size = 4, .max_running = 2, .max_rows = 8});
  const auto says = [&](const Request& request, const char* sentence) {
    CHECK_THROWS_WITH_AS(engine.submit(request), sentence, UsageError);
  };
  says({.prompt = {}}, "the prompt has no tokens");
  says({.prompt = {0, 30}}, "token id 30 at position 1 is not in [0, 30)");
  says({.prompt = {0}, .max_tokens = 0}, "max_tokens: wanted at least 1, found 0");
  says({.prompt = {0}, .sampling = {.temperature = -1}, .max_tokens = 1},
       "temperature: wanted a number of at least 0, found -1");
  says({.prompt = Tokens(24, 5)}, "the prompt has 24 tokens, which leaves no room for one more in the context of 24");
  says({.prompt = Tokens(7, 5), .max_tokens = 3},
       "a prompt of 7 tokens and 3 more never fit into the cache, which holds 8: ask for fewer, or start the server "
       "with more --max-tokens-in-flight");
  CHECK(engine.idle());
  engine.submit({.prompt = Tokens(7, 5), .max_tokens = 2});
  CHECK(run_to_the_end(engine)[0].size() == 2);
  says({.prompt = Tokens(9, 5), .max_tokens = as_many_as_fit},
       "a prompt of 9 tokens and 1 more never fit into the cache, which holds 8: ask for fewer, or start the server "
       "with more --max-tokens-in-flight");
  CHECK_THROWS_WITH_AS(BatchEngine(*m.model, {.blocks = 2, .max_running = 9, .max_rows = 8}),
                       "tokens of a step: wanted one for each of 9 requests at once, found 8", UsageError);
  CHECK_THROWS_WITH_AS(BatchEngine(*m.model, {.blocks = 2, .max_rows = 64, .context = 25}),
                       "context: wanted 1 to 24, which is the model's, found 25", UsageError);
}

TEST_SUITE_END();
