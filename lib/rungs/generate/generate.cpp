#include "rungs/generate/generate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/generate/nan_check.hpp"

namespace rungs {

namespace {

struct Sequence {
  int64_t number;               // which prompt
  std::vector<int32_t> tokens;  // the prompt, and what was drawn
  int64_t cached = 0;           // positions that the cache holds
  Sampler sampler;
  bool done = false;
};

/// Everything that lives as long as one call of generate.
struct Loop {
  Model& model;
  const GenerateOptions& options;
  const std::function<void(const Step&)>& on_step;
  int64_t context;  // most tokens of a sequence
  std::vector<Sequence> sequences;
  KvCache cache;
  Batch batch;
  Tensor logits;                     // (B, V) on the device
  std::vector<double> draws = {};    // of each unfinished sequence in this step
  std::vector<int32_t> chosen = {};  // their tokens, where the device chooses
  std::vector<float> host = {};      // else their logits, (B, V)
  bool device_chooses = false;

  /// First row of `s` that this step feeds.
  int64_t past(const Sequence& s) const { return options.cache ? s.cached : 0; }

  /// Runs the rows gathered so far, whose logits go to row `first` and on. Returns the row after them.
  int64_t flush(int64_t first) {
    const auto count = int64_t(batch.logit_rows.size());
    if (count == 0) return first;
    Tensor part = logits.view_rows(first, count);  // (count, V)
    KvCache* with = options.cache ? &cache : nullptr;
    model.forward(part, batch, with);
    if (!take(part, size_t(first))) fail_not_finite(model, part, batch, with);
    batch.clear();
    return first + count;
  }

  /// Brings from the device what these logits' tokens need. Returns false when one of them is not finite.
  bool take(const Tensor& part, size_t first) {
    const size_t count = size_t(part.dim(0)), V = size_t(part.dim(1));
    const std::span<int32_t> tokens = std::span(chosen).subspan(first, count);
    const auto drawn = std::span<const double>(draws).subspan(first, count);
    device_chooses = !options.pick && model.backend().steps.sample(tokens, part, options.sampling, drawn);
    if (device_chooses) return std::find(tokens.begin(), tokens.end(), -1) == tokens.end();
    host.resize(chosen.size() * V);
    return download_finite(model.backend().device, std::span(host).subspan(first * V, count * V), part);
  }

  void feed() {
    const auto most = size_t(model.max_rows());
    size_t unfinished = 0;
    for (Sequence& s : sequences)
      if (!s.done) draws[unfinished++] = s.sampler.next_draw();
    int64_t row = 0;  // of the logits, for the first sequence in the batch
    for (const Sequence& s : sequences) {
      if (s.done) continue;
      int64_t position = past(s);
      std::span<const int32_t> left = std::span(s.tokens).subspan(size_t(position));
      while (!left.empty()) {
        if (size_t(batch.rows()) + left.size() > most) row = flush(row);
        const size_t n = options.cache ? std::min(left.size(), most) : left.size();
        batch.add(int32_t(s.number), left.first(n), position, /*only_last=*/true);
        left = left.subspan(n), position += int64_t(n);
        if (!left.empty()) flush(row);  // a piece of a long prompt: its logits give way to those of the next piece
      }
    }
    flush(row);
  }

  void draw(int64_t step) {
    const size_t V = size_t(logits.dim(1));
    size_t row = 0;
    for (Sequence& s : sequences) {
      if (s.done) continue;
      const int32_t token =
          device_chooses ? chosen[row] : s.sampler.sample(std::span(host).subspan(V * row, V), draws[row]);
      ++row;
      const int64_t position = int64_t(s.tokens.size());
      if (on_step) on_step({s.number, step, past(s), position, std::span(s.tokens).subspan(size_t(past(s))), token});
      s.cached = position;
      s.tokens.push_back(token);
      s.done = options.ends(token) || step + 1 == options.max_tokens || position + 1 == context;
    }
  }
};

}  // namespace

void check_prompts(const std::vector<std::vector<int32_t>>& prompts, const GenerateOptions& options, int64_t context) {
  const auto fail = [](const std::string& what) { throw UsageError(what); };
  if (prompts.empty()) fail("wanted at least one prompt, found none");
  if (options.max_tokens < 1) fail(fmt::format("max-tokens: wanted at least 1, found {}", options.max_tokens));
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto length = int64_t(prompts[i].size());
    const std::string name = prompts.size() == 1 ? "the prompt" : fmt::format("prompt {}", i + 1);
    if (length == 0) fail(name + " has no tokens");
    if (length >= context)
      fail(fmt::format("{} has {} tokens, which leaves no room for one more in the context of {}", name, length,
                       context));
  }
}

std::vector<std::vector<int32_t>> generate(Model& model, const std::vector<std::vector<int32_t>>& prompts,
                                           const GenerateOptions& options,
                                           const std::function<void(const Step&)>& on_step) {
  const Config& config = model.config();
  if (options.context < 0 || options.context > config.max_seq_len)
    throw UsageError(
        fmt::format("context: wanted 1 to {}, which is the model's, found {}", config.max_seq_len, options.context));
  const int64_t context = options.context ? options.context : config.max_seq_len;
  check_prompts(prompts, options, context);
  const auto B = int64_t(prompts.size());
  Loop loop{model, options, on_step, context, {}, {}, {}, model.backend().device.allocate({B, config.vocab_size})};
  loop.draws.resize(size_t(B));
  loop.chosen.resize(size_t(B));
  int64_t longest = 0;  // of the sequences, at their ends
  for (size_t i = 0; i < prompts.size(); ++i) {
    Sequence s{int64_t(i), {}, 0, Sampler(options.sampling, options.seed + i, options.pick)};
    const int64_t most =
        int64_t(prompts[i].size()) + std::min(options.max_tokens, context - int64_t(prompts[i].size()));
    s.tokens.reserve(size_t(most));
    s.tokens = prompts[i];
    longest = std::max(longest, most);
    loop.sequences.push_back(std::move(s));
  }
  if (options.cache) loop.cache = KvCache(model.backend().device, config, B, longest, options.cache_dtype);

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
