/// Lesson 27: speculative decoding, in which a small model guesses and the large one checks all guesses at once.
#pragma once

#include <functional>
#include <vector>

#include "reader.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/tensor/tensor.hpp"

/// Lesson 27, 27_speculative.
namespace lesson_27 {

using namespace rungs;

using given::Reader;
/// Ids of a text.
using Tokens = std::vector<int32_t>;
/// Gives a number in [0, 1) at each call.
using Draw = std::function<double()>;

/// Whether a token that was drawn from q is kept: with the probability min(1, p/q), so when draw < p(token) / q(token).
/// p, q: (V), what the model and the draft give to each token.
bool accept(const Tensor& p, const Tensor& q, int32_t token, double draw);

/// out = max(p - q, 0), made to sum to one: where a token comes from that replaces one that was not kept. out, p, q:
/// (V).
void residual(Tensor& out, const Tensor& p, const Tensor& q);

/// What became of k drafted tokens.
struct Verdict {
  int64_t kept;  ///< the first so many
  int32_t next;  ///< the token behind them
};

/// Leviathan and others 2023, algorithm 1, without its calls: the drafted tokens in turn until one is not kept; then
/// the next token is drawn from that row's residual. Where all are kept it is drawn from the last row of p. p: (k + 1,
/// V), row i is behind i drafted tokens; q: (k, V). One draw for each token that is looked at, and one for the next.
Verdict verify(const Tensor& p, const Tensor& q, const Tokens& drafted, const Draw& draw);

/// Forgets what the cache holds of tokens at `length` and later: their rows are written again when others stand there.
void roll_back(Reader& reader, int64_t length);

/// k tokens that the draft would write after these, drawn one after the other. q: (k, V), what each was drawn from.
Tokens guess(Reader& draft, Tokens tokens, int64_t k, Tensor& q, const Draw& draw);

/// What drafting was worth.
struct Counts {
  int64_t drafted = 0, kept = 0, calls = 0;  ///< calls of the model
};

/// Continues the prompt by options.max_tokens tokens, or until one of options.stop: at most k are guessed at a time,
/// and never more than there is room for.
Tokens generate(Reader& model, Reader& draft, const Tokens& prompt, const GenerateOptions& options, int64_t k,
                const Draw& draw, Counts& counts);

}  // namespace lesson_27
