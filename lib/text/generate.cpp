#include "text/generate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/finite.hpp"

namespace rungs {

namespace {

struct Sequence {
  int64_t number;               // which prompt
  std::vector<int32_t> tokens;  // the prompt, and what was drawn
  int64_t fed = 0;              // positions that the cache holds
  Sampler sampler;
  bool done = false;
};

void check(const std::vector<std::vector<int32_t>>& prompts, const GenerateOptions& options, int64_t context) {
  const auto fail = [](const std::string& what) { throw UsageError(what); };
  if (prompts.empty()) fail("wanted at least one prompt, found none");
  if (options.max_tokens < 1) fail(fmt::format("max-tokens: wanted at least 1, found {}", options.max_tokens));
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto length = int64_t(prompts[i].size());
    const std::string name = prompts.size() == 1 ? "the prompt" : fmt::format("prompt {}", i + 1);
    if (length == 0) fail(name + " has no tokens");
    if (length > context)
      fail(fmt::format("{} has {} tokens, more than the model's context of {}", name, length, context));
    if (options.max_tokens > context - length)
      fail(
          fmt::format("{} has {} tokens and {} more are wanted, which is past the end of the model's context of {}; "
                      "ask for at most {}",
                      name, length, options.max_tokens, context, context - length));
  }
}

/// Everything that lives as long as one call of generate.
struct Loop {
  Model& model;
  const GenerateOptions& options;
  const std::function<void(const Step&)>& on_step;
  std::vector<Sequence> sequences;
  KvCache cache;
  Batch batch;
  Tensor logits;            // (B, V) on the device
  std::vector<float> host;  // (B, V)

  /// First row of `s` that this step feeds.
  int64_t start(const Sequence& s) const { return options.cache ? s.fed : 0; }

  /// Runs the rows gathered so far, whose logits go to rows [first, first + batch.wanted.size()).
  void flush(int64_t first) {
    const auto count = int64_t(batch.wanted.size());
    if (count == 0) return;
    const size_t V = size_t(logits.dim(1));
    Tensor part = logits.view_rows(first, count);  // (count, V)
    forward_finite(model, std::span(host).subspan(size_t(first) * V, size_t(count) * V), part, batch,
                   options.cache ? &cache : nullptr);
    batch.clear();
  }

  void feed() {
    int64_t done = 0, waiting = 0;  // sequences whose logits are computed; whose rows stand in the batch
    for (const Sequence& s : sequences) {
      if (s.done) continue;
      const std::span<const int32_t> tokens = std::span(s.tokens).subspan(size_t(start(s)));
      if (batch.rows() + int64_t(tokens.size()) > model.max_rows()) flush(done), done += waiting, waiting = 0;
      batch.add(int32_t(s.number), tokens, start(s), /*only_last=*/true);
      ++waiting;
    }
    flush(done);
  }

  void draw(int64_t step) {
    const size_t V = size_t(logits.dim(1));
    size_t row = 0;
    for (Sequence& s : sequences) {
      if (s.done) continue;
      const int32_t token = s.sampler.next(std::span(host).subspan(V * row++, V));
      const int64_t previous = start(s), current = int64_t(s.tokens.size());
      if (on_step) on_step({s.number, step, previous, current, std::span(s.tokens).subspan(size_t(previous)), token});
      s.fed = current;
      s.tokens.push_back(token);
      s.done = token == options.stop || step + 1 == options.max_tokens;
    }
  }
};

}  // namespace

std::vector<std::vector<int32_t>> generate(Model& model, const std::vector<std::vector<int32_t>>& prompts,
                                           const GenerateOptions& options,
                                           const std::function<void(const Step&)>& on_step) {
  const Config& config = model.config();
  check(prompts, options, config.context);
  const auto B = int64_t(prompts.size());
  Loop loop{model, options, on_step, {}, {}, {}, model.ops().allocate({B, config.vocabulary}), {}};
  loop.host.resize(size_t(B * config.vocabulary));
  size_t longest = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    Sequence s{int64_t(i), {}, 0, Sampler(options.sampling, options.seed + i)};
    s.tokens.reserve(prompts[i].size() + size_t(options.max_tokens));
    s.tokens = prompts[i];
    longest = std::max(longest, prompts[i].size());
    loop.sequences.push_back(std::move(s));
  }
  if (options.cache) loop.cache = KvCache(model.ops(), config, B, int64_t(longest) + options.max_tokens);

  const auto unfinished = [](const Sequence& s) { return !s.done; };
  for (int64_t step = 0; std::any_of(loop.sequences.begin(), loop.sequences.end(), unfinished); ++step) {
    loop.feed();
    loop.draw(step);
  }
  std::vector<std::vector<int32_t>> drawn;
  for (const Sequence& s : loop.sequences)
    drawn.emplace_back(s.tokens.begin() + int64_t(prompts[size_t(s.number)].size()), s.tokens.end());
  return drawn;
}

}  // namespace rungs
