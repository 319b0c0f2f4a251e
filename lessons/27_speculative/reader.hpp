/// Lesson 27, given: a model that reads a text from where it was.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "rungs/base/error.hpp"
#include "rungs/generate/nan_check.hpp"
#include "rungs/generate/sampler.hpp"
#include "rungs/model/model.hpp"

namespace lesson_27::given {

using namespace rungs;

/// A model, and how much of the text its cache holds.
struct Reader {
  Reader(Model& of, const SampleOptions& options, int64_t capacity)
      : model(of), sampling(options), cache(of.backend().device, of.config(), 1, capacity) {}

  /// The distributions behind the last n tokens, (n, V), as the options make them of the logits. Reads the tokens from
  /// `cached` on, in one call of the model, and moves `cached` behind them. \throws UsageError where fewer than n are
  /// left to read
  Tensor read(const std::vector<int32_t>& tokens, int64_t n) {
    const int64_t V = model.config().vocab_size, T = int64_t(tokens.size());
    if (T - cached < n)
      throw UsageError(
          fmt::format("the distributions behind {} tokens were asked for, and of a text of {} tokens {} are "
                      "cached: was the cache rolled back?",
                      n, T, cached));
    Batch batch;
    batch.add(0, std::span(tokens).subspan(size_t(cached)), cached, /*only_last=*/true);
    batch.logit_rows.clear();
    for (int64_t row = batch.rows() - n; row < batch.rows(); ++row) batch.logit_rows.push_back(int32_t(row));
    Tensor logits({n, V}), out({n, V});  // (n, V)
    std::vector<float> host(static_cast<size_t>(n * V));
    forward_finite(model, host, logits, batch, &cache);
    std::vector<int32_t> order;
    for (int64_t i = 0; i < n; ++i)
      probabilities({&out(i, 0), size_t(V)}, std::span<const float>(host).subspan(size_t(i * V), size_t(V)), sampling,
                    order);
    again += std::max<int64_t>(0, std::min(T - n, longest) - cached);
    cached = T, longest = std::max(longest, T), ++calls;
    return out;
  }

  Model& model;
  SampleOptions sampling;
  KvCache cache;
  int64_t cached = 0;   ///< the rows of tokens 0, ..., cached - 1 are there
  int64_t calls = 0;    ///< of the model, until now
  int64_t longest = 0;  ///< the most tokens that were ever cached
  int64_t again = 0;    ///< rows read a second time that no distribution was asked of: rolled back for nothing
};

}  // namespace lesson_27::given
