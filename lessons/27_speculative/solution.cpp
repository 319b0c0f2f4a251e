#include <algorithm>

#include "lesson.hpp"
#include "rungs/generate/sampler.hpp"

namespace lesson_27 {

bool accept(const Tensor& p, const Tensor& q, int32_t token, double draw) {
  bool kept = false;
  // >>> kept = draw < p(token) / q(token)
  kept = draw < double(p(token)) / double(q(token));
  // <<<
  return kept;
}

void residual(Tensor& out, const Tensor& p, const Tensor& q) {
  const int64_t V = p.dim(0);
  // >>> out(v) = what p(v) has more than q(v), or 0; then divide by the sum of all
  float sum = 0;
  for (int64_t v = 0; v < V; ++v) sum += out(v) = std::max(p(v) - q(v), 0.0F);
  for (int64_t v = 0; v < V; ++v) out(v) /= sum;
  // <<<
}

/// A token of the distribution p, (V), by lesson 7's walk.
static int32_t drawn_from(const Tensor& p, double draw) { return sample({p.data(), size_t(p.count())}, draw); }

Verdict verify(const Tensor& p, const Tensor& q, const Tokens& drafted, const Draw& draw) {
  const auto k = int64_t(drafted.size());
  for (int64_t i = 0; i < k; ++i) {
    // >>> where drafted token i is not accepted: a token of the residual of p[i] and q[i] is the next, and i were kept
    if (accept(p[i], q[i], drafted[size_t(i)], draw())) continue;
    Tensor left({p.dim(1)});  // (V)
    residual(left, p[i], q[i]);
    return {i, drawn_from(left, draw())};
    // <<<
  }
  int32_t next = 0;
  // >>> all were kept: next = a token of the row of p behind the last of them
  next = drawn_from(p[k], draw());
  // <<<
  return {k, next};
}

void roll_back(Reader& reader, int64_t length) {
  // >>> tokens at `length` and later are no longer cached; what was never read does not become cached
  reader.cached = std::min(reader.cached, length);
  // <<<
}

Tokens guess(Reader& draft, Tokens tokens, int64_t k, Tensor& q, const Draw& draw) {
  Tokens drafted;
  for (int64_t i = 0; i < k; ++i) {
    // >>> row i of q = the draft's distribution behind the text so far; a token of it joins the text and `drafted`
    const Tensor row = draft.read(tokens, 1);  // (1, V)
    for (int64_t v = 0; v < q.dim(1); ++v) q(i, v) = row(0, v);
    drafted.push_back(drawn_from(row[0], draw()));
    tokens.push_back(drafted.back());
    // <<<
  }
  return drafted;
}

Tokens generate(Reader& model, Reader& draft, const Tokens& prompt, const GenerateOptions& options, int64_t k,
                const Draw& draw, Counts& counts) {
  const auto begin = int64_t(prompt.size()), end = begin + options.max_tokens, V = model.model.config().vocab_size;
  Tokens tokens = prompt;
  while (int64_t(tokens.size()) < end) {
    const auto length = int64_t(tokens.size());
    int64_t ahead = 0;
    // >>> ahead = how many to guess: k, or fewer, so that they and the token behind them end where the text must
    ahead = std::min(k, end - length - 1);
    // <<<
    Tensor q({ahead, V});  // (k, V)
    const Tokens drafted = guess(draft, tokens, ahead, q, draw);
    tokens.insert(tokens.end(), drafted.begin(), drafted.end());

    Tensor p({ahead + 1, V});  // (k + 1, V)
    // >>> p = the model's distributions behind the text before the draft and behind each drafted token, in one call
    p = model.read(tokens, ahead + 1);
    // <<<
    const Verdict v = verify(p, q, drafted, draw);

    // >>> keep the tokens that were kept and the one behind them; roll both caches back to those that were kept
    tokens.resize(size_t(length + v.kept));
    roll_back(model, length + v.kept);
    roll_back(draft, length + v.kept);
    tokens.push_back(v.next);
    // <<<
    counts.drafted += ahead, counts.kept += v.kept, ++counts.calls;

    // >>> where one of the new tokens ends the text (options.ends), drop what is behind it, and return
    for (int64_t i = length; i < int64_t(tokens.size()); ++i)
      if (options.ends(tokens[size_t(i)])) return {tokens.begin() + begin, tokens.begin() + i + 1};
    // <<<
  }
  return {tokens.begin() + begin, tokens.end()};
}

}  // namespace lesson_27
