// The thread that serves many: each gets the text that it would get alone.
#include "contains.hpp"
#include "rungs/base/file.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "serve/serve.hpp"
#include "serve/server_engine.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("serve");

namespace {

using Tokens = std::vector<int32_t>;

/// A token as text: <7>.
TextStream numbers() {
  return {[](int32_t id) { return "<" + std::to_string(id) + ">"; }, [] { return std::string(); }};
}

std::string whole(Answer& answer) {
  std::string all;
  for (bool ended = false; !ended;) {
    const auto [text, now] = answer.wait();
    all += text, ended = now;
  }
  return all;
}

struct Served {
  CpuOps ops;
  std::unique_ptr<Model> model = load_model(ops, weights_directory() / "references/models/llama_gqa");
  BatchingOptions options{.blocks = 24, .block_size = 4, .max_running = 4, .max_rows = 16, .context = 24};
};

}  // namespace

TEST_CASE("the options of a server become sizes of its steps and its cache") {
  const Config config = load_config(weights_directory() / "references/models/llama_gqa");
  const BatchingOptions usual = batching_options({}, config);
  CHECK(usual.max_running == 16);
  CHECK(usual.max_rows == 256);
  CHECK(usual.prompt_rows == 32);
  CHECK(usual.blocks * usual.block_size >= 16 * config.usable_context());
  CHECK(batching_options({.context = 24}, config).blocks == 16 * 2);  // whole blocks for each slot
  const BatchingOptions asked =
      batching_options({.slots = 300, .chunk = 300, .context = 8, .max_tokens_in_flight = 65}, config);
  CHECK(asked.max_running == 300);
  CHECK(asked.max_rows == 300);  // one of each
  CHECK(asked.prompt_rows == 300);
  CHECK(asked.context == 8);
  CHECK(asked.block_size == 16);
  CHECK(asked.blocks == 5);
  CHECK(batching_options({.context = 8, .block_size = 4, .max_tokens_in_flight = 65}, config).blocks == 17);
  CHECK_THROWS_WITH_AS(batching_options({.block_size = 5000}, config),
                       "--block-size: wanted 0 (as the model needs) to 4096, found 5000", UsageError);
}

TEST_CASE(
    "requests from many threads get the texts that they would get alone, from fewer slots and blocks than they want") {
  Served s;
  constexpr int clients = 24;
  std::vector<Request> requests;
  for (int32_t i = 0; i < clients; ++i)
    requests.push_back({.prompt = {1, 2, 3, 4, 5, 6, i % 7, i},
                        .sampling = {.temperature = i % 2 ? 1.0 : 0.0},
                        .seed = uint64_t(i),
                        .max_tokens = 1 + i % 12});
  std::vector<std::string> wanted, got(clients);
  for (const Request& r : requests) {
    const GenerateOptions options{.sampling = r.sampling, .seed = r.seed, .max_tokens = r.max_tokens};
    const std::vector<Tokens> drawn = generate(*s.model, {r.prompt}, options);
    wanted.emplace_back();
    for (const int32_t id : drawn[0]) wanted.back() += numbers().next(id);
  }
  ServerEngine engine(*s.model, s.options);
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i)
    threads.emplace_back([&, i] { got[size_t(i)] = whole(*engine.ask(requests[size_t(i)], numbers(), {})); });
  for (std::thread& t : threads) t.join();
  CHECK(got == wanted);
  while (engine.busy()) std::this_thread::yield();
  const ServerCounts counts = engine.counts();
  CHECK(counts.finished == clients);
  CHECK(counts.free_blocks == s.options.blocks);
  CHECK(counts.drawn_tokens > 0);
}

TEST_CASE("a stop text ends a request, and a request that is cancelled frees its blocks") {
  Served s;
  ServerEngine engine(*s.model, s.options);
  const std::string all = whole(*engine.ask({.prompt = {1, 2, 3}, .max_tokens = 12}, numbers(), {}));
  const std::string third = all.substr(all.find('<', all.find('<', 1) + 1));
  const std::string stop = third.substr(0, third.find('>') + 1);
  const auto answer = engine.ask({.prompt = {1, 2, 3}, .max_tokens = 12}, numbers(), {stop});
  CHECK(whole(*answer) == all.substr(0, all.find(stop)));
  CHECK(std::string(answer->finish()) == "stop");

  const auto long_one = engine.ask({.prompt = {1, 2, 3}, .max_tokens = 20}, numbers(), {});
  engine.cancel(long_one);
  while (engine.busy()) std::this_thread::yield();
  CHECK(engine.counts().free_blocks == s.options.blocks);
}

TEST_CASE("what can never be served is refused where it was asked, and a step that fails ends its requests alone") {
  Served s;
  ServerEngine engine(*s.model, s.options);
  CHECK_THROWS_WITH_AS(engine.ask({.prompt = Tokens(30, 1)}, numbers(), {}),
                       Contains("leaves no room for one more in the context of 24"), UsageError);
  CHECK_THROWS_WITH_AS(engine.ask({.prompt = {1, 1'000'000}}, numbers(), {}), Contains("token id 1000000"), UsageError);
  const TextStream broken{[](int32_t) -> std::string { throw Error("no such text"); }, [] { return std::string(); }};
  const auto failing = engine.ask({.prompt = {1, 2}, .max_tokens = 4}, broken, {});
  CHECK(whole(*failing) == "");
  CHECK(failing->error() == "no such text");
  CHECK(whole(*engine.ask({.prompt = {1, 2}, .max_tokens = 4}, numbers(), {})) != "");
}

TEST_SUITE_END();
