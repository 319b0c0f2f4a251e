/// Random schedules of requests, each of which must get what it gets alone.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "rungs/batching/batch_engine.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/model/random_llama.hpp"
#include "support.hpp"

namespace rungs::test {

using Tokens = std::vector<int32_t>;

/// A request, and what it gets alone, from a contiguous cache.
struct Known {
  Request request;
  Tokens text;
  std::vector<std::vector<float>> logits;  // from which each token was drawn
};

inline Known known(Model& model, const Request& request) {
  Known k{request, {}, {}};
  GenerateOptions options{.sampling = request.sampling, .seed = request.seed, .max_tokens = request.max_tokens};
  options.stop = request.stop;
  options.pick = [&](std::span<const float> logits, const SampleOptions& sampling, double draw) {
    k.logits.emplace_back(logits.begin(), logits.end());
    return Sampler(sampling, 0).sample(logits, draw);
  };
  k.text = generate(model, {request.prompt}, options)[0];
  return k;
}

/// Requests that begin alike in several ways, greedy and sampled, some of which end early.
inline std::vector<Known> some_requests(Model& model, int64_t longest, int count = 40) {
  std::vector<Known> all;
  std::mt19937_64 random(5);
  const auto any = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  Tokens common;
  for (int i = 0; i < longest; ++i) common.push_back(int32_t(any(30)));
  for (int i = 0; i < count; ++i) {
    Request r;
    const int64_t shared = any(longest - 4), own = any(5) + (shared == 0);
    r.prompt.assign(common.begin(), common.begin() + shared);
    for (int64_t t = 0; t < own; ++t) r.prompt.push_back(int32_t(any(30)));
    r.max_tokens = 1 + any(longest - int64_t(r.prompt.size()));
    r.seed = random();
    if (i % 3 > 0) r.sampling = {.temperature = 1.0, .top_k = i % 2 ? 9 : 0, .top_p = 0.95};
    if (i % 4 == 0) r.stop = {int32_t(any(30)), int32_t(any(30)), int32_t(any(30))};
    all.push_back(known(model, r));
  }
  return all;
}

/// What must hold between two steps, whatever happened.
inline void check_invariants(const Scheduler& s) {
  std::map<int32_t, int64_t> holders;
  std::set<int64_t> slots;
  for (const auto& [id, r] : s.requests()) {
    const bool runs = s.running().contains(id);
    CHECK(runs != s.waiting().contains(id));
    CHECK(runs == (r.slot >= 0));
    if (!runs) CHECK((r.blocks.empty() && r.computed == 0));
    if (runs) CHECK(slots.insert(r.slot).second);
    CHECK(r.computed < int64_t(r.tokens.size()));
    CHECK(int64_t(r.blocks.size()) * s.options().block_size >= r.computed);
    for (const int32_t block : r.blocks) ++holders[block];
  }
  int64_t held = 0;
  for (int32_t block = 0; block < s.pool().blocks(); ++block) {
    CHECK(s.pool().holders(block) == (holders.contains(block) ? holders[block] : 0));
    held += s.pool().holders(block) > 0;
  }
  CHECK(s.pool().free() == s.pool().blocks() - held);
}

struct Counts {
  int64_t preempted = 0, copied = 0, found = 0, cancelled = 0, finished = 0;
};

/// One random schedule: requests come, are cancelled, and end; every text is that of running alone, and so are all
/// logits within `tolerance`.
inline void run_schedule(Model& model, const std::vector<Known>& requests, uint64_t seed, int64_t longest,
                         float tolerance, Counts& counts) {
  std::mt19937_64 random(seed);
  const auto any = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  BatchingOptions options;
  options.block_size = 1 + any(6);
  options.blocks = (longest + options.block_size - 1) / options.block_size + any(12);
  options.max_running = 1 + any(6);
  options.max_rows = options.max_running + any(12);
  options.prompt_rows = any(8);
  options.prefix_caching = any(4) > 0;
  options.continuous = any(4) > 0;
  BatchEngine engine(model, options);
  std::map<int64_t, size_t> which;
  std::map<int64_t, Tokens> texts;
  int64_t coming = 1 + any(10);
  const auto watch = [&](int64_t id, int64_t position, std::span<const float> logits) {
    const Known& k = requests[which.at(id)];
    const auto& want = k.logits.at(size_t(position) - k.request.prompt.size());
    float worst = 0;
    for (size_t i = 0; i < logits.size(); ++i) worst = std::max(worst, std::fabs(logits[i] - want[i]));
    CHECK(worst <= tolerance);
  };
  for (int64_t step = 0; coming > 0 || !engine.idle(); ++step) {
    REQUIRE(step < 4000);
    while (coming > 0 && any(3) == 0) {
      const auto i = size_t(any(int64_t(requests.size())));
      which[engine.submit(requests[i].request)] = i;
      --coming;
    }
    for (const DrawnToken& d : engine.step(watch)) {
      texts[d.id].push_back(d.token);
      if (d.finish == Finish::no) continue;
      CHECK(texts[d.id] == requests[which.at(d.id)].text);
      const auto& stop = requests[which.at(d.id)].request.stop;
      CHECK((d.finish == Finish::stop) == (std::find(stop.begin(), stop.end(), d.token) != stop.end()));
      which.erase(d.id);
      ++counts.finished;
    }
    check_invariants(engine.scheduler());
    if (!which.empty() && any(15) == 0) {
      const int64_t victim = std::next(which.begin(), any(int64_t(which.size())))->first;
      CHECK(engine.cancel(victim));
      CHECK(!engine.cancel(victim));
      which.erase(victim);
      ++counts.cancelled;
      check_invariants(engine.scheduler());
    }
  }
  CHECK(which.empty());
  CHECK(engine.scheduler().pool().free() == options.blocks);
  counts.preempted += engine.scheduler().preemptions();
  counts.found += engine.scheduler().found_tokens();
  counts.copied += engine.stats().copies;
}

/// Every kind of event was met often: a schedule that never runs out of blocks would test nothing.
inline void check_counts(const Counts& c, int64_t schedules) {
  MESSAGE(schedules, " schedules: ", c.finished, " texts, ", c.preempted, " preemptions, ", c.cancelled, " cancelled, ",
          c.found, " tokens found, ", c.copied, " blocks copied");
  for (const int64_t count : {c.preempted, c.found, c.cancelled, c.finished}) CHECK(count > schedules / 10);
  CHECK(c.copied > 0);
}

/// A LLaMA that was never trained, with a context of 48 tokens and a vocabulary of 30.
inline void save_small_llama(const std::filesystem::path& folder) {
  Config c;
  c.model_type = "llama", c.max_seq_len = 48, c.hidden_size = 32, c.num_heads = 4, c.num_kv_heads = 2, c.head_dim = 8;
  c.intermediate_size = 40, c.num_layers = 2, c.vocab_size = 30, c.epsilon = 1e-5f;
  c.rotary = c.rms_norm = c.gated = true;
  save_random_llama(folder, c, DType::f32, 3);
}

}  // namespace rungs::test
