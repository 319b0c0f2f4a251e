#include "rungs/generate/speculative.hpp"

#include <cmath>

#include "generate/tiny_model.hpp"
#include "rungs/generate/nan_check.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("text");

using Tokens = std::vector<int32_t>;
using Row = std::vector<float>;

namespace {

using Verify = std::function<Verdict(std::span<const float>, std::span<const float>, std::span<const int32_t>,
                                     const std::function<double()>&)>;

Row joined(const std::vector<Row>& rows) {
  Row all;
  for (const Row& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

/// Whether N draws, counted, can come from p: by chi-square and by total variation. Each bound is passed by draws that
/// do come from p with a probability above 1 - 1e-6. Chi-square of ν degrees of freedom is below ν + 2√(νx) + 2x with
/// probability 1 - e^-x (Laurent and Massart 2000, lemma 1). Total variation has a mean of at most √(V/N) / 2 (Cauchy
/// and Schwarz), and, as one draw moves it by at most 1/N, exceeds that by √(x/2N) with probability e^-x (McDiarmid
/// 1989).
bool fits(const std::vector<int64_t>& counts, const std::vector<double>& p) {
  const double x = std::log(1e6);
  double N = 0, chi = 0, variation = 0, freedom = -1;
  for (const int64_t count : counts) N += double(count);
  for (size_t v = 0; v < p.size(); ++v) {
    const double n = double(counts[v]), want = N * p[v];
    if (p[v] == 0 && counts[v] > 0) return false;
    if (p[v] > 0) chi += (n - want) * (n - want) / want, ++freedom;
    variation += std::abs(n / N - p[v]) / 2;
  }
  return chi <= freedom + 2 * std::sqrt(freedom * x) + 2 * x &&
         variation <= std::sqrt(double(p.size()) / N) / 2 + std::sqrt(x / (2 * N));
}

/// The first and the second token that two drafted ones lead to, drawn 10⁵ times, against the rows of p: whatever q is,
/// the first token must come from p's row 0 and, where the first drafted token was kept, the second from row 1.
bool is_exact(const Verify& verify, const std::vector<Row>& p, const std::vector<Row>& q) {
  std::mt19937_64 random(7);
  const auto next = [&] { return draw(random); };
  const Row p_all = joined(p), q_all = joined(q);
  const size_t V = p[0].size();
  std::vector<int64_t> first(V), second(V);
  for (int i = 0; i < 100000; ++i) {
    const Tokens drafted{sample(q[0], next()), sample(q[1], next())};
    const Verdict v = verify(p_all, q_all, drafted, next);
    ++first[size_t(v.accepted > 0 ? drafted[0] : v.next)];
    if (v.accepted > 0) ++second[size_t(v.accepted > 1 ? drafted[1] : v.next)];
  }
  const auto exact = [](const Row& row) { return std::vector<double>(row.begin(), row.end()); };
  const bool second_was_reached = std::any_of(second.begin(), second.end(), [](int64_t n) { return n > 0; });
  return fits(first, exact(p[0])) && (!second_was_reached || fits(second, exact(p[1])));
}

const Row even{0.25f, 0.25f, 0.25f, 0.25f}, left{0.5f, 0.5f, 0, 0}, right{0, 0, 0.75f, 0.25f}, one{0, 1, 0, 0},
    rising{0.0625f, 0.1875f, 0.25f, 0.5f}, falling{0.5f, 0.375f, 0.125f, 0};

struct Pair {
  const char* name;
  std::vector<Row> p, q;
};
const std::vector<Pair> pairs = {
    {"equal", {rising, falling, even}, {rising, falling}},
    {"disjoint", {left, right, even}, {right, left}},
    {"certain of a token", {rising, falling, even}, {one, one}},
    {"p is certain", {one, one, one}, {even, rising}},
    {"unlike", {rising, falling, even}, {falling, rising}},
    {"nearly alike", {rising, rising, rising}, {even, even}},
};

bool is_exact_for_all(const Verify& verify) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const Pair& o) { return is_exact(verify, o.p, o.q); });
}

/// Two models of one vocabulary that know nothing of each other.
struct Models {
  explicit Models(uint64_t seed_of_draft = 5) {
    Config c = load_config(files.path);
    save_random_decoder(small.path(), c, seed_of_draft);
    write_file(small / "vocabulary.json", tiny_vocabulary);
    model = load_model(ops, files.path);
    draft = load_model(ops, small.path());
  }
  TinyModel files;
  Folder small;
  CpuOps ops;
  std::unique_ptr<Model> model, draft;
};

}  // namespace

TEST_CASE("whatever is drafted, tokens have the distribution of the model") {
  for (const Pair& o : pairs) {
    INFO(o.name);
    CHECK(is_exact(verify_draft, o.p, o.q));
  }
}

TEST_CASE("what is wrong with a draft's verdict is found by counting") {
  const auto accepts_all = [](auto p, auto, auto drafted, const auto& next) {
    const size_t k = drafted.size(), V = p.size() / (k + 1);
    return Verdict{int64_t(k), sample(p.subspan(k * V, V), next())};
  };
  CHECK_FALSE(is_exact_for_all(accepts_all));

  const auto draws_again_from_p = [](auto p, auto q, auto drafted, const auto& next) {
    const size_t k = drafted.size(), V = p.size() / (k + 1);
    for (size_t i = 0; i < k; ++i) {
      const size_t at = i * V + size_t(drafted[i]);
      if (next() * q[at] >= p[at]) return Verdict{int64_t(i), sample(p.subspan(i * V, V), next())};
    }
    return Verdict{int64_t(k), sample(p.subspan(k * V, V), next())};
  };
  CHECK_FALSE(is_exact_for_all(draws_again_from_p));

  const auto looks_one_row_on = [](auto p, auto q, auto drafted, const auto& next) {
    const size_t V = p.size() / (drafted.size() + 1);
    Row later(p.begin() + int64_t(V), p.end());
    later.insert(later.end(), p.end() - int64_t(V), p.end());
    return verify_draft(later, q, drafted, next);
  };
  CHECK_FALSE(is_exact_for_all(looks_one_row_on));
}

TEST_CASE("a mismatch at the first, a middle and the last drafted token, and none: so many are kept, and one follows") {
  const auto row = [](int32_t token) {
    Row r(4);
    r[size_t(token)] = 1;
    return r;
  };
  const Row p = joined({row(2), row(0), row(3), row(1)});
  const auto verdict = [&](const Tokens& drafted) {
    Row q;
    for (const int32_t token : drafted) q = joined({q, row(token)});
    return verify_draft(p, q, drafted, [] { return 0.0; });
  };
  const auto is = [](const Verdict& v, int64_t accepted, int32_t next) {
    return v.accepted == accepted && v.next == next;
  };
  CHECK(is(verdict({1, 0, 3}), 0, 2));
  CHECK(is(verdict({2, 1, 3}), 1, 0));
  CHECK(is(verdict({2, 0, 0}), 2, 3));
  CHECK(is(verdict({2, 0, 3}), 3, 1));
}

TEST_CASE("greedy text is the same with every draft, however far it looks ahead, up to the end of the context") {
  Models m;
  for (const Tokens& prompt : {Tokens{0}, Tokens{0, 24, 25}, Tokens{0, 24, 25, 26, 27, 24, 28, 29}, Tokens(23, 5)})
    for (const int64_t context : {0, 24, 13})
      for (const int64_t k : {1, 2, 5, 12}) {
        if (context > 0 && int64_t(prompt.size()) >= context) continue;
        const GenerateOptions options{.sampling = {.temperature = 0}, .max_tokens = 40, .context = context};
        const Tokens alone = generate(*m.model, {prompt}, options)[0];
        for (Model* draft : {m.draft.get(), m.model.get(), static_cast<Model*>(nullptr)}) {
          DraftReport report;
          CHECK(generate_drafted(*m.model, prompt, options, {draft, k}, report) == alone);
          CHECK(report.accepted <= report.drafted);
          CHECK(report.calls + report.accepted >= int64_t(alone.size()));
        }
      }
}

TEST_CASE("a draft that is the model itself is always right, and the bonus token comes with every call") {
  Models m;
  for (const double temperature : {0.0, 1.0}) {
    DraftReport report;
    const GenerateOptions options{.sampling = {.temperature = temperature}, .max_tokens = 20};
    CHECK(generate_drafted(*m.model, {0, 24}, options, {m.model.get(), 4}, report).size() == 20);
    CHECK(report.accepted == report.drafted);
    CHECK(report.calls == 4);
  }
}

TEST_CASE("a text ends within a draft, and nothing behind its end is kept or shown") {
  Models m;
  const GenerateOptions free{.sampling = {.temperature = 0}, .max_tokens = 16};
  const Tokens alone = generate(*m.model, {{0, 24, 25}}, free)[0];
  for (size_t at = 0; at < alone.size(); ++at) {
    GenerateOptions options = free;
    options.stop = {alone[at]};
    DraftReport report;
    Tokens seen;
    const Tokens made = generate_drafted(*m.model, {0, 24, 25}, options, {m.model.get(), 6}, report,
                                         [&](const Step& step) { seen.push_back(step.token); });
    CHECK(made == generate(*m.model, {{0, 24, 25}}, options)[0]);
    CHECK(seen == made);
  }
}

TEST_CASE("a long prompt goes in pieces, and a draft with a shorter context stops where its context ends") {
  Models m;
  Config c = load_config(m.files.path);
  c.max_seq_len = 10;
  const Folder shorter;
  save_random_decoder(shorter.path(), c, 5);
  write_file(shorter / "vocabulary.json", tiny_vocabulary);
  const auto draft = load_model(m.ops, shorter.path());
  const auto in_pieces = load_model(m.ops, m.files.path, {.max_rows = 5});
  const GenerateOptions options{.sampling = {.temperature = 0}, .max_tokens = 40};
  for (const Tokens& prompt : {Tokens{0, 24}, Tokens{0, 24, 25, 26, 27, 24, 28}, Tokens(12, 5)}) {
    DraftReport report;
    CHECK(generate_drafted(*in_pieces, prompt, options, {draft.get(), 4}, report) ==
          generate(*m.model, {prompt}, options)[0]);
  }
}

TEST_CASE("the second token that is sampled has the model's distribution, too") {
  Models m;
  const Tokens prompt{0, 24};
  const SampleOptions sampling{.temperature = 0.8, .top_k = 12, .top_p = 0.9};
  const auto distribution = [&](const Tokens& tokens) {
    Batch batch;
    batch.add(0, tokens, 0, true);
    Tensor logits({1, 30});
    Row host(30), p(30);
    Tokens order;
    forward_finite(*m.model, host, logits, batch, nullptr);
    probabilities(p, host, sampling, order);
    return p;
  };
  std::vector<double> exact(30);
  const Row first = distribution(prompt);
  for (int32_t a = 0; a < 30; ++a) {
    if (first[size_t(a)] == 0) continue;
    const Row behind = distribution({0, 24, a});
    for (size_t b = 0; b < 30; ++b) exact[b] += double(first[size_t(a)]) * behind[b];
  }
  for (Model* draft : {m.draft.get(), static_cast<Model*>(nullptr)}) {
    std::vector<int64_t> counts(30);
    for (uint64_t seed = 0; seed < 20000; ++seed) {
      DraftReport report;
      ++counts[size_t(generate_drafted(*m.model, prompt, {.sampling = sampling, .seed = seed, .max_tokens = 2},
                                       {draft, 3}, report)[1])];
    }
    CHECK(fits(counts, exact));
  }
}

TEST_CASE("what followed these words before is looked up, the longest match first and of those the latest") {
  CHECK(look_up(Tokens{1, 2, 3, 4, 1, 2}, 3) == Tokens{3, 4, 1});
  CHECK(look_up(Tokens{1, 2, 3, 9, 2, 4, 1, 2}, 2) == Tokens{3, 9});
  CHECK(look_up(Tokens{5, 6, 5, 7, 5}, 1) == Tokens{7});
  CHECK(look_up(Tokens{5, 5, 5}, 4) == Tokens{5});
  CHECK(look_up(Tokens{1, 2, 3}, 4).empty());
  CHECK(look_up(Tokens{1}, 4).empty());
}

TEST_CASE("a draft that does not fit is refused in one sentence") {
  Models m;
  Config c = load_config(m.files.path);
  c.vocab_size = 31;
  const Folder other;
  save_random_decoder(other.path(), c, 5);
  write_file(other / "vocabulary.json", std::string(tiny_vocabulary).replace(12, 0, "\"x\", "));
  const auto draft = load_model(m.ops, other.path());
  DraftReport report;
  CHECK_THROWS_WITH_AS(generate_drafted(*m.model, {0}, {}, {draft.get(), 4}, report),
                       "the draft knows 31 tokens and the model 30: both must have one vocabulary", UsageError);
  CHECK_THROWS_WITH_AS(generate_drafted(*m.model, {0}, {}, {nullptr, 0}, report),
                       "draft-tokens: wanted 1 to 23, found 0", UsageError);
  CHECK_THROWS_WITH_AS(generate_drafted(*m.model, {0}, {}, {nullptr, 24}, report),
                       "draft-tokens: wanted 1 to 23, found 24", UsageError);
}
