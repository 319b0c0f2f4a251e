#include "rungs/grader/suites.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/model/config.hpp"

namespace rungs {

namespace {

using Split = std::vector<int32_t>;  // how many tokens each call gets

Tensor ids(const std::vector<int32_t>& values) {
  Tensor t({int64_t(values.size())}, DType::i32);
  std::copy(values.begin(), values.end(), t.data<int32_t>());
  return t;
}

std::string name_of_split(const Split& split) {
  std::string name;
  for (const int32_t n : split) name += fmt::format("{}{}", name.empty() ? "" : "+", n);
  return name.size() <= 24 ? name : fmt::format("{}...({} calls)", name.substr(0, 12), split.size());
}

/// Every way to cut T tokens into calls for a short prompt; for a long one the telling ones.
std::vector<Split> splits_of(int32_t T) {
  std::vector<Split> splits;
  constexpr int32_t short_enough = 7;  // 64 splits
  if (T <= short_enough) {
    for (int32_t cuts = 0; cuts < 1 << (T - 1); ++cuts) {  // bit t: a call ends after token t
      Split split{1};
      for (int32_t t = 0; t + 1 < T; ++t)
        if (cuts >> t & 1)
          split.push_back(1);
        else
          ++split.back();
      splits.push_back(split);
    }
    return splits;
  }
  const auto in_chunks_of = [T](int32_t n) {
    Split split;
    for (int32_t left = T; left > 0; left -= n) split.push_back(std::min(n, left));
    return split;
  };
  return {{T}, in_chunks_of(1), {T - 1, 1}, {1, T - 1}, in_chunks_of(3), in_chunks_of(7), {T / 2, T - T / 2}};
}

/// Rows through ops.linear for one token: q, k, v, o, up, down and perhaps gate in each layer. The output projection
/// comes on top, for each row whose logits are wanted.
int64_t linear_rows_per_token(const Config& config) { return (config.gated ? 7 : 6) * config.num_layers; }

void add_splits(std::vector<Case>& cases, const Case& prompt, const Case* other, const std::filesystem::path& weights) {
  const int64_t per_token = linear_rows_per_token(load_config(weights / prompt.input.model)) + 1;
  const auto T = int32_t(prompt.input["tokens"].count());
  const auto add = [&](const Split& split, const char* what, const char* extra) {
    Case c = prompt.copy();
    c.input.name = fmt::format("{} split {}{}", prompt.input.name, name_of_split(split), what);
    c.input.in.insert_or_assign("split", ids(split));
    int64_t tokens = T;
    if (extra) {
      c.input.in.insert_or_assign(extra, other->input["tokens"].copy());
      tokens += other->input["tokens"].count();
    }
    c.linear_rows = tokens * per_token;
    cases.push_back(std::move(c));
  };
  for (const Split& split : splits_of(T)) add(split, "", nullptr);
  if (!other) return;
  add({T}, " after a reset", "before");
  add(Split(size_t(T), 1), " after a reset", "before");
  add(Split(size_t(T), 1), " beside another sequence", "beside");
}

}  // namespace

/// Rows through ops.linear when each token is fed once; nothing for a case without a cache.
static std::optional<int64_t> rows_that_are_enough(const Case& c, const std::filesystem::path& weights) {
  const std::string& run = c.input.run;
  if (!c.error.empty()) return std::nullopt;
  if (run == "attention") return 4 * c.input["x"].dim(0);  // q, k, v and o
  if (run != "decoder_forward" && run != "llama_forward" && run != "generate") return std::nullopt;
  const int64_t per_token = linear_rows_per_token(load_config(weights / c.input.model));
  if (run != "generate") return (per_token + 1) * c.input["tokens"].count();
  const bool batch = c.input.in.count("lengths") > 0;  // prompts of several sequences, joined
  const int64_t prompts = c.input[batch ? "tokens" : "prompt"].count(), made = c.find("tokens")->value.count();
  const int64_t sequences = batch ? c.input["lengths"].count() : 1;
  const int64_t wanted = batch ? made : prompts + made - sequences;  // 07 and 08 project every row to logits
  return per_token * (prompts + made - sequences) + wanted;          // the last token of a sequence is not fed
}

std::vector<Case> cases_of(const Lesson& lesson, Suite suite) {
  const std::filesystem::path weights = lesson.references.parent_path().parent_path();
  const bool has_cache = lesson.has_cache();
  std::vector<Case> chosen, prompts;
  for (Case& c : load_cases(lesson.references)) {
    if (has_cache) c.linear_rows = rows_that_are_enough(c, weights);
    if (c.input.run == "prompt")
      prompts.push_back(std::move(c));
    else if (suite == Suite::evaluate || c.linear_rows)
      chosen.push_back(std::move(c));
  }
  if (suite == Suite::evaluate) return chosen;
  std::vector<Case> cases;
  for (const Case& prompt : prompts) {
    const Case* other = nullptr;  // another prompt of the same model, of another length
    for (const Case& p : prompts)
      if (&p != &prompt && p.input.model == prompt.input.model) other = &p;
    add_splits(cases, prompt, other, weights);
  }
  for (Case& c : chosen) cases.push_back(std::move(c));
  return cases;
}

std::vector<Case> largest_cases_of(const Lesson& lesson) {
  const auto size_of = [](const Case& c) {
    int64_t count = 0;
    for (const auto& [name, tensor] : c.input.in) count += tensor.count();
    for (const Reference& r : c.references) count += r.value.count();
    return count;
  };
  std::vector<Case> largest;
  for (Case& c : cases_of(lesson, Suite::evaluate)) {
    const auto same = [&](const Case& other) { return other.input.run == c.input.run; };
    const auto known = std::find_if(largest.begin(), largest.end(), same);
    if (!c.error.empty()) continue;
    if (known == largest.end())
      largest.push_back(std::move(c));
    else if (size_of(c) > size_of(*known))
      *known = std::move(c);
  }
  return largest;
}

}  // namespace rungs
