#include "rungs/generate/speculative.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>

#include "rungs/generate/nan_check.hpp"

namespace rungs {

namespace {

/// A draw from max(p - q, 0), made to sum to one. Where nothing is left, p and q were equal but for rounding: from p.
int32_t sample_residual(std::span<const float> p, std::span<const float> q, double draw) {
  std::vector<float> left(p.size());
  double sum = 0;
  for (size_t v = 0; v < p.size(); ++v) sum += left[v] = std::max(p[v] - q[v], 0.0f);
  if (sum == 0) return sample(p, draw);
  for (float& x : left) x = float(x / sum);
  return sample(left, draw);
}

/// One model's reading of the text: what it has cached of it, and the distributions behind its tokens.
class Reader {
 public:
  Reader(Model& model, const GenerateOptions& options, int64_t capacity)
      : model_(model),
        sampling_(options.sampling),
        cache_(model.backend().device, model.config(), 1, capacity, options.cache_dtype) {}

  int64_t cached() const { return cached_; }
  /// Tokens from `length` on are taken back: their rows of the cache will be written again.
  void roll_back(int64_t length) { cached_ = std::min(cached_, length); }

  /// Reads the text from where it was, and gives the distributions behind its last n tokens, (n, V).
  std::span<const float> read(std::span<const int32_t> tokens, int64_t n) {
    const auto length = int64_t(tokens.size());
    while (length - cached_ > model_.max_rows()) {  // a long prompt, in pieces
      const int64_t piece = std::min(model_.max_rows(), length - cached_ - n);
      feed(tokens.subspan(size_t(cached_), size_t(piece)), 1);
      cached_ += piece;
    }
    feed(tokens.subspan(size_t(cached_)), n);
    cached_ = length;
    const auto V = size_t(model_.config().vocab_size);
    distributions_.resize(logits_.size());
    for (size_t row = 0; row < size_t(n); ++row)
      probabilities(std::span(distributions_).subspan(row * V, V), std::span(logits_).subspan(row * V, V), sampling_,
                    order_);
    return distributions_;
  }

 private:
  /// The logits behind the last n of these tokens, which stand behind those that are cached.
  void feed(std::span<const int32_t> tokens, int64_t n) {
    Batch batch;
    batch.add(0, tokens, cached_, /*only_last=*/true);
    batch.logit_rows.clear();
    for (int64_t row = int64_t(tokens.size()) - n; row < int64_t(tokens.size()); ++row)
      batch.logit_rows.push_back(int32_t(row));
    Tensor logits = model_.backend().device.allocate({n, model_.config().vocab_size});  // (n, V)
    logits_.resize(size_t(logits.count()));
    forward_finite(model_, logits_, logits, batch, &cache_);
  }

  Model& model_;
  SampleOptions sampling_;
  KvCache cache_;
  int64_t cached_ = 0;
  std::vector<float> logits_, distributions_;
  std::vector<int32_t> order_;
};

/// Who guesses: a model of its own, or look_up.
class Drafter {
 public:
  Drafter(const DraftOptions& draft, const GenerateOptions& options, int64_t context, int64_t vocabulary)
      : draft_(draft), vocabulary_(vocabulary) {
    if (!draft.model) return;
    context_ = std::min(context, draft.model->config().max_seq_len);
    reader_.emplace(*draft.model, options, context_);
  }

  /// At most k tokens that may follow `tokens`; q: (number of them, V), what they were drawn from.
  std::vector<int32_t> guess(std::vector<int32_t> tokens, int64_t k, std::vector<float>& q,
                             const std::function<double()>& draw) {
    q.clear();
    std::vector<int32_t> drafted;
    if (!reader_) {
      drafted = look_up(tokens, k);
      q.assign(drafted.size() * size_t(vocabulary_), 0.0f);  // certain of each
      for (size_t i = 0; i < drafted.size(); ++i) q[i * size_t(vocabulary_) + size_t(drafted[i])] = 1;
      return drafted;
    }
    while (int64_t(drafted.size()) < k && int64_t(tokens.size()) <= context_) {
      const std::span<const float> row = reader_->read(tokens, 1);
      q.insert(q.end(), row.begin(), row.end());
      drafted.push_back(sample(row, draw()));
      tokens.push_back(drafted.back());
    }
    return drafted;
  }

  void roll_back(int64_t length) {
    if (reader_) reader_->roll_back(length);
  }

 private:
  DraftOptions draft_;
  int64_t vocabulary_, context_ = 0;
  std::optional<Reader> reader_;
};

void check_draft(const DraftOptions& draft, Model& model) {
  if (draft.tokens < 1 || draft.tokens >= model.max_rows())
    throw UsageError(fmt::format("draft-tokens: wanted 1 to {}, found {}", model.max_rows() - 1, draft.tokens));
  if (draft.model && draft.model->config().vocab_size != model.config().vocab_size)
    throw UsageError(fmt::format("the draft knows {} tokens and the model {}: both must have one vocabulary",
                                 draft.model->config().vocab_size, model.config().vocab_size));
}

}  // namespace

Verdict verify_draft(std::span<const float> p, std::span<const float> q, std::span<const int32_t> drafted,
                     const std::function<double()>& draw) {
  const size_t k = drafted.size(), V = p.size() / (k + 1);
  for (size_t i = 0; i < k; ++i) {
    const std::span<const float> p_row = p.subspan(i * V, V), q_row = q.subspan(i * V, V);
    const auto token = size_t(drafted[i]);
    if (draw() * q_row[token] >= p_row[token]) return {int64_t(i), sample_residual(p_row, q_row, draw())};
  }
  return {int64_t(k), sample(p.subspan(k * V, V), draw())};
}

std::vector<int32_t> look_up(std::span<const int32_t> tokens, int64_t k, int64_t longest) {
  const auto N = int64_t(tokens.size());
  for (int64_t n = std::min(longest, N - 1); n > 0; --n)
    for (int64_t at = N - n - 1; at >= 0; --at)
      if (std::equal(tokens.end() - n, tokens.end(), tokens.begin() + at)) {
        const auto begin = tokens.begin() + at + n;
        return {begin, begin + std::min(k, N - at - n)};
      }
  return {};
}

std::vector<int32_t> generate_drafted(Model& model, const std::vector<int32_t>& prompt, const GenerateOptions& options,
                                      const DraftOptions& draft, DraftReport& report,
                                      const std::function<void(const Step&)>& on_step) {
  const int64_t context = options.context ? options.context : model.config().max_seq_len;
  check_prompts({prompt}, options, context);
  check_draft(draft, model);
  const auto begin = int64_t(prompt.size()), end = begin + std::min(options.max_tokens, context - begin);
  Reader reader(model, options, end);
  Drafter drafter(draft, options, end, model.config().vocab_size);
  std::mt19937_64 random(options.seed);
  const auto next_draw = [&] { return options.sampling.temperature > 0 ? rungs::draw(random) : 0; };

  std::vector<int32_t> tokens = prompt;
  std::vector<float> q;  // (k, V)
  for (bool done = false; !done;) {
    const auto length = int64_t(tokens.size()), past = reader.cached();
    const std::vector<int32_t> drafted = drafter.guess(tokens, std::min(draft.tokens, end - length - 1), q, next_draw);
    tokens.insert(tokens.end(), drafted.begin(), drafted.end());
    const std::vector<int32_t> fed(tokens.begin() + past, tokens.end());
    const Verdict v = verify_draft(reader.read(tokens, int64_t(drafted.size()) + 1), q, drafted, next_draw);
    tokens.resize(size_t(length + v.accepted));
    tokens.push_back(v.next);
    reader.roll_back(length + v.accepted);
    drafter.roll_back(length + v.accepted);
    report.drafted += int64_t(drafted.size()), report.accepted += v.accepted;
    for (int64_t i = length; i < int64_t(tokens.size()) && !done; ++i) {
      if (on_step) on_step({0, report.calls, past, i, fed, tokens[size_t(i)]});
      done = options.ends(tokens[size_t(i)]) || i + 1 == end;
      if (done) tokens.resize(size_t(i + 1));  // what was drafted behind the end of the text goes
    }
    ++report.calls;
  }
  return {tokens.begin() + begin, tokens.end()};
}

}  // namespace rungs
