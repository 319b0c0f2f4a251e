#include "rungs/grader/draw.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>

#include "rungs/grader/suites.hpp"

namespace rungs {

namespace {

using Random = std::mt19937_64;

/// No negative element, and rows that sum to one.
bool holds_probabilities(const Tensor& t) {
  const float* p = t.data<float>();
  for (int64_t r = 0; r < t.rows(); ++r) {
    double sum = 0;
    for (int64_t i = 0; i < t.cols(); ++i) {
      if (!(p[r * t.cols() + i] >= 0)) return false;
      sum += p[r * t.cols() + i];
    }
    if (std::fabs(sum - 1) > 1e-3) return false;
  }
  return true;
}

Tensor drawn_floats(const Tensor& t, Random& random) {
  Tensor drawn = t.copy();
  const int64_t columns = t.cols() > 1 ? t.cols() : t.count();
  for (int64_t i = 0; i < t.count(); i += columns)
    std::shuffle(drawn.data<float>() + i, drawn.data<float>() + i + columns, random);
  if (holds_probabilities(t)) return drawn;
  const float scale = std::uniform_real_distribution<float>(0.75f, 0.95f)(random);
  for (int64_t i = 0; i < t.count(); ++i) drawn.data<float>()[i] *= scale;
  return drawn;
}

/// The characters of a text in another order. text: (byte), UTF-8; a byte that begins none belongs to the one before
/// it.
Tensor shuffled_characters(const Tensor& text, Random& random) {
  std::vector<std::vector<int32_t>> characters;
  for (int64_t i = 0; i < text.count(); ++i) {
    const int32_t byte = text.at<int32_t>(i);
    const bool goes_on = (byte & 0xc0) == 0x80 && !characters.empty();
    if (!goes_on) characters.emplace_back();
    characters.back().push_back(byte);
  }
  std::shuffle(characters.begin(), characters.end(), random);
  Tensor shuffled = text.copy();
  int32_t* to = shuffled.data<int32_t>();
  for (const auto& character : characters) to = std::copy(character.begin(), character.end(), to);
  return shuffled;
}

/// Sizes and speeds, each up to half as large again; what is whole stays whole and becomes larger by one at least.
Tensor enlarged(const Tensor& t, Random& random) {
  std::uniform_real_distribution<double> share(0, 0.5);
  Tensor drawn = t.copy();
  for (int64_t i = 0; i < t.count(); ++i) {
    const double more = t.value(i) * share(random);
    if (t.dtype() == DType::f64)
      drawn.data<double>()[i] += more;
    else if (t.dtype() == DType::i64)
      drawn.data<int64_t>()[i] += 1 + int64_t(more);
    else
      drawn.data<int32_t>()[i] += 1 + int32_t(more);
  }
  return drawn;
}

/// The tensor drawn anew; nothing for one that says how the case is computed.
ConstTensor drawn_from(const std::string& name, const Tensor& t, Random& random) {
  static const std::set<std::string> tokens{"tokens", "prompt", "ids", "before", "beside"}, texts{"text", "piece"};
  if (t.count() == 0) return {};
  if (t.dtype() == DType::f32) return drawn_floats(t, random);
  if (t.dtype() == DType::i32 && texts.count(name)) return shuffled_characters(t, random);
  Tensor drawn = t.copy();
  if (t.dtype() == DType::i32 && tokens.count(name)) {
    std::shuffle(drawn.data<int32_t>(), drawn.data<int32_t>() + t.count(), random);
    return drawn;
  }
  if (t.dtype() == DType::f64 && name == "draws") {
    std::uniform_real_distribution<double> uniform(0, 1);
    std::generate_n(drawn.data<double>(), t.count(), [&] { return uniform(random); });
    return drawn;
  }
  return {};
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         std::equal(static_cast<const char*>(a.raw()), static_cast<const char*>(a.raw()) + a.bytes(),
                    static_cast<const char*>(b.raw()));
}

/// Of a case that counts and holds nothing else to draw from. What must fit to something, as heads and bits, stays.
bool draw_sizes(CaseInput& input, Random& random) {
  static const std::set<std::string> sizes{
      "bandwidth", "batch",   "batches",     "bytes",     "cache_bytes", "context",           "contexts",
      "d",         "flops",   "hidden_size", "in",        "intensity",   "intermediate_size", "keys",
      "memory",    "N",       "num_layers",  "numbers",   "out",         "parameter_bytes",   "past",
      "peak",      "queries", "rows",        "vocab_size"};
  bool any = false;
  for (auto& [name, tensor] : input.in) {
    const DType dtype = tensor.dtype();
    if (!sizes.count(name) || (dtype != DType::i32 && dtype != DType::i64 && dtype != DType::f64)) continue;
    tensor = enlarged(tensor, random), any = true;
  }
  return any;
}

/// False where nothing came out otherwise than it was.
bool draw(CaseInput& input, Random& random) {
  bool other = false;
  for (auto& [name, tensor] : input.in) {
    ConstTensor drawn = drawn_from(name, tensor, random);
    if (!drawn || same_bytes(drawn, tensor)) continue;
    tensor = std::move(drawn), other = true;
  }
  return other || draw_sizes(input, random);
}

/// What the solution makes of it; nothing where it refuses.
std::optional<DrawnCase> solved(CaseInput&& input, Runner& solution) {
  Outcome outcome = solution.run(input);
  if (outcome.how != Outcome::done) return std::nullopt;
  DrawnCase drawn{std::move(input), {}};
  for (Recorded& piece : outcome.recording.pieces)
    if (piece.is_output) drawn.outputs.push_back(std::move(piece));
  return drawn;
}

void draw_suite(DrawnCases& all, const std::vector<Case>& cases, Runner& solution, Random& random) {
  constexpr int draws = 2;
  for (const Case& c : cases) {
    if (!c.error.empty() || all.count(c.input.name)) continue;
    for (int i = 0; i < draws; ++i) {
      CaseInput input = c.input.copy();
      if (!draw(input, random)) break;
      if (auto drawn = solved(std::move(input), solution)) all[c.input.name].push_back(std::move(*drawn));
    }
  }
}

}  // namespace

DrawnCases draw_cases(const Lesson& lesson, uint64_t seed) {
  DrawnCases all;
  Runner solution(lesson.solution_runner, "solution");
  Random random(seed);
  draw_suite(all, cases_of(lesson, Suite::evaluate), solution, random);
  if (lesson.has_cache()) draw_suite(all, cases_of(lesson, Suite::kv_evaluate), solution, random);
  return all;
}

static bool is_close(const Tensor& got, const Tensor& want, const Reference* reference) {
  double largest = 0, tolerance = reference ? reference->absolute : 0;
  for (int64_t i = 0; i < want.count(); ++i)
    if (std::isfinite(want.value(i))) largest = std::max(largest, std::fabs(want.value(i)));
  return compare(got, want, {std::max(1e-3 * largest, tolerance_per_error32 * tolerance)}).pass;
}

bool agrees(const Outcome& answer, const DrawnCase& drawn, const Case& c) {
  if (answer.how != Outcome::done) return false;
  size_t i = 0;
  for (const Recorded& piece : answer.recording.pieces) {
    if (!piece.is_output) continue;
    if (i == drawn.outputs.size() || piece.name != drawn.outputs[i].name) return false;
    if (!is_close(piece.value, drawn.outputs[i].value, c.find(piece.name))) return false;
    ++i;
  }
  return i == drawn.outputs.size();
}

}  // namespace rungs
