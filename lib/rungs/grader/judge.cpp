#include "rungs/grader/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "rungs/base/text.hpp"
#include "rungs/base/units.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

/// One element as people read it: counts in full, ids as they are.
static std::string element(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::i64) return with_commas(t.data<int64_t>()[i]);
  if (t.dtype() == DType::i32) return fmt::format("{}", t.data<int32_t>()[i]);
  return number(t.value(i));
}

/// "yours 7, reference 8", of the worst element.
static std::string both(const Compared& p, const Tensor& want) {
  const int64_t worst = p.comparison.worst;
  std::string text = fmt::format("yours {}, reference {}", element(*p.got, worst), element(want, worst));
  if (std::isfinite(p.comparison.fraction)) text += fmt::format(" ({:.3g} times the tolerance)", p.comparison.fraction);
  return text;
}

/// The dimension along which the calls of a case follow each other: the tokens of a call.
static int row_dim(const std::vector<std::string>& dims) { return dims.size() == 3 && dims[1] == "query" ? 1 : 0; }

static int64_t rows_of(const Tensor& t, const std::vector<std::string>& dims) {
  const int d = row_dim(dims);
  return t.shape().rank() > d ? t.dim(d) : 0;
}

/// Queries [first, first + rows) and keys [0, cols) of (query, key), of every head where there are heads.
static Tensor cropped(const Tensor& whole, int64_t first, int64_t rows, int64_t cols) {
  const bool heads = whole.shape().rank() == 3;
  const int64_t H = heads ? whole.dim(0) : 1, T = whole.dim(heads ? 1 : 0);
  Tensor part = Tensor::uninitialised(heads ? Shape{H, rows, cols} : Shape{rows, cols}, whole.dtype());
  const ConstTensor lines = whole.reshaped({H * T, whole.cols()});
  const size_t line = size_t(cols) * bytes_of(whole.dtype());
  for (int64_t h = 0; h < H; ++h)
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(static_cast<const char*>(lines.view_rows(h * T + first + r, 1).raw()), line,
                  static_cast<char*>(part.raw()) + size_t(h * rows + r) * line);
  return part;
}

static ConstTensor window_of(const Tensor& whole, const std::vector<std::string>& dims, const Tensor& got,
                             int64_t first) {
  const bool same_rank = got.shape().rank() == whole.shape().rank();
  const int64_t got_rows = rows_of(got, dims), rows = rows_of(whole, dims);
  if (!same_rank || whole.shape().rank() == 0 || got_rows + first > rows) return whole.view();
  if (whole.shape().rank() == int(dims.size()) && dims.size() >= 2 && dims.back() == "key") {
    const int64_t later = rows - first - got_rows;  // tokens after this call, whose keys it cannot know
    return cropped(whole, first, got_rows, std::max<int64_t>(0, whole.cols() - later));
  }
  return whole.view_rows(first, got_rows);
}

ConstTensor window(const Reference& reference, const Tensor& got, int64_t first_row) {
  return window_of(reference.value, reference.dims, got, first_row);
}

std::vector<Compared> compare_all(const Recording& recording, const Case& c) {
  std::vector<Compared> all;
  std::map<std::string, int64_t> next_row;
  for (const Recorded& piece : recording.pieces) {
    const Reference* reference = c.find(piece.name);
    if (!reference || reference->is_output != piece.is_output) continue;
    int64_t& first = next_row[piece.name];
    Tolerance tolerance = reference->tolerance();
    const ConstTensor kept =
        tolerance.each ? window_of(*tolerance.each, reference->dims, piece.value, first) : ConstTensor();
    const Tensor& each = kept;
    if (tolerance.each) tolerance.each = &each;
    all.push_back({piece.name, reference, compare(piece.value, window(*reference, piece.value, first), tolerance),
                   first, &piece.value});
    first += rows_of(piece.value, reference->dims);
  }
  return all;
}

/// Says of a piece, the last of its tensor, that all pieces together have fewer rows than the reference.
static void note_missing_rows(Compared& p, int64_t rows) {
  const Shape& piece = p.got->shape();
  std::vector<int64_t> together;
  for (int i = 0; i < piece.rank(); ++i) together.push_back(i == row_dim(p.reference->dims) ? rows : piece[i]);
  p.comparison.pass = false, p.comparison.fraction = HUGE_VAL;  // no tolerance covers rows that did not come
  p.comparison.shape_problem = fmt::format("its shape is {}{}, wanted {}", to_string(Shape(together)),
                                           p.first_row > 0 ? " in all" : "", to_string(p.reference->value.shape()));
}

std::vector<Compared> compare_all(const Outcome& outcome, const Case& c) {
  std::vector<Compared> all = compare_all(outcome.recording, c);
  if (outcome.how != Outcome::done) return all;
  struct Pieces {
    size_t count = 0;
    Compared* last = nullptr;
  };
  std::map<std::string, Pieces> tensors;
  size_t calls = 0;
  for (Compared& p : all) {
    Pieces& of = tensors[p.name];
    ++of.count, of.last = &p;
    calls = std::max(calls, of.count);
  }
  for (const auto& [name, of] : tensors) {
    const Reference& r = *of.last->reference;
    const int64_t rows = of.last->first_row + rows_of(*of.last->got, r.dims);
    const bool left_out = !r.is_output && of.count < calls;  // of some calls: the learner may remove a tap anywhere
    if (of.last->comparison.pass && !left_out && rows < rows_of(r.value, r.dims)) note_missing_rows(*of.last, rows);
  }
  return all;
}

static std::string plural(int64_t n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

static std::string what_is_wrong(const Compared& p) {
  const Comparison& r = p.comparison;
  if (!r.shape_problem.empty()) return fmt::format("{}: {}", p.name, r.shape_problem);
  if (p.got->shape().rank() == 0) return fmt::format("{} is wrong: {}", p.name, both(p, p.reference->value));
  std::string text =
      fmt::format("{} of {} of {} {} wrong", r.wrong, plural(r.count, "value"), p.name, r.wrong == 1 ? "is" : "are");
  if (r.unwritten)
    text += fmt::format(", {} never written", r.unwritten);
  else if (r.nans)
    text += fmt::format(", {} not a number", r.nans);
  else if (r.infinite)
    text += fmt::format(", {} infinite", r.infinite);
  return text;
}

static Verdict judge_ending(const Outcome& outcome, const Case& c) {
  Verdict v;
  const bool should_throw = !c.error.empty();
  switch (outcome.how) {
    case Outcome::done:
      v.pass = !should_throw;
      if (should_throw) v.summary = "It returned as if all were well; it must throw: " + c.error;
      break;
    case Outcome::threw:
      v.pass = should_throw && !outcome.no_exception;
      if (!should_throw)
        v.summary = "It threw: " + outcome.says;
      else if (outcome.no_exception)
        v.summary = fmt::format("It threw {}; it must throw an exception: {}", outcome.says, c.error);
      break;
    case Outcome::not_written:
      v.summary = "not written yet: " + outcome.says;
      break;
    case Outcome::died:
      v.summary = outcome.says;
      break;
  }
  return v;
}

bool may_show_fresh_memory(const Outcome& outcome) {
  if (outcome.how != Outcome::done) return !outcome.too_late;
  const auto numbers_alone = [](const Recorded& piece) {
    if (piece.value.dtype() != DType::f32) return false;
    const std::span<const float> all(piece.value.data(), size_t(piece.value.count()));
    return std::none_of(all.begin(), all.end(), [](float x) { return std::isnan(x); });
  };
  const std::vector<Recorded>& pieces = outcome.recording.pieces;
  return !std::all_of(pieces.begin(), pieces.end(), numbers_alone);
}

Verdict judge(Outcome outcome, const Case& c) {
  Verdict v = judge_ending(outcome, c);
  const auto fail = [&](const std::string& why) {
    if (v.pass) v.pass = false, v.summary = why;
  };
  std::map<std::string, int64_t> rows;
  for (const Compared& p : compare_all(outcome, c)) {
    if (!p.reference->is_output) continue;
    if (!p.comparison.pass) fail(what_is_wrong(p));
    v.fraction = std::max(v.fraction, p.comparison.fraction);
    rows[p.name] += p.got->shape().rank() ? p.got->dim(0) : 1;
  }
  for (const Reference& r : c.references) {
    if (!r.is_output || !c.error.empty()) continue;
    const int64_t wanted = r.value.shape().rank() ? r.value.dim(0) : 1;
    if (rows[r.name] == wanted) continue;
    if (v.pass) v.fraction = HUGE_VAL;  // no tolerance covers rows that did not come
    fail(fmt::format("{} of {} of {} came back", rows[r.name], plural(wanted, "row"), r.name));
  }
  v.too_much_work = v.pass && c.linear_rows && outcome.recording.linear_rows != *c.linear_rows;
  if (v.too_much_work)
    fail(fmt::format("The answer is right, but {} rows went through ops.linear, and {} are enough",
                     outcome.recording.linear_rows, *c.linear_rows));
  v.outcome = std::move(outcome);
  return v;
}

/// What fits beside the reference: so many rows and columns.
static constexpr int64_t most_beside = 4;

/// Rows of two matrices of as many columns side by side, from `first` on. Either may end before the other.
static std::string rows_beside(const Tensor& got, const Tensor& want, int64_t first) {
  const int64_t C = want.cols(), last = std::min(std::max(got.rows(), want.rows()), first + most_beside);
  size_t width = 9;
  for (const Tensor* t : {&got, &want})
    for (int64_t i = first * C; i < std::min(last, t->rows()) * C; ++i)
      width = std::max(width, element(*t, i).size() + 2);
  const auto row = [&](const Tensor& t, int64_t r) {
    std::string text;
    for (int64_t i = r * C; r < t.rows() && i < (r + 1) * C; ++i) text += fmt::format("{:>{}}", element(t, i), width);
    return text;
  };
  std::string text = fmt::format("\n      {:<{}}   {}\n", "yours", width * size_t(C), "reference");
  for (int64_t r = first; r < last; ++r) {
    const std::string left = row(got, r), right = row(want, r);
    text += right.empty() ? fmt::format("    {}\n", left)
                          : fmt::format("    {:<{}}   {}\n", left, width * size_t(C), right);
  }
  return text;
}

/// Yours and the reference side by side, when both are at most 4 by 4; of three dimensions the matrix of the worst
/// element.
static std::string side_by_side(const Tensor& got, const Tensor& want, int64_t worst) {
  if (got.shape() != want.shape() || got.count() == 0) return "";
  if (got.shape().rank() == 3) {
    const int64_t matrix = got.dim(1) * got.dim(2);
    return side_by_side(got[worst / matrix], want[worst / matrix], worst % matrix);
  }
  if (got.shape().rank() > 2 || got.rows() > most_beside || got.cols() > most_beside) return "";
  return rows_beside(got, want, 0);
}

/// Of a matrix with more or fewer rows than the reference: those around the first that differs.
static std::string other_rows(const Compared& p) {
  const Tensor &got = *p.got, &want = p.reference->value;
  const bool matrices = got.shape().rank() == 2 && want.shape().rank() == 2 && got.dim(1) == want.dim(1);
  if (!matrices || want.dim(1) == 0 || want.dim(1) > most_beside) return "";
  const auto alike = [&](int64_t r) {
    const ConstTensor each = p.reference->each ? p.reference->each.view_rows(r, 1) : ConstTensor();
    const Tensor& of_row = each;
    return compare(got.view_rows(r, 1), want.view_rows(r, 1), {p.reference->absolute, each ? &of_row : nullptr}).pass;
  };
  int64_t first = 0;
  while (first < std::min(got.dim(0), want.dim(0)) && alike(first)) ++first;
  const std::string from = first > 0 ? fmt::format("  From {} {} on:\n", p.reference->dims.at(0), first) : "";
  return from + rows_beside(got, want, first);
}

/// Elements [first, last) as the bytes that they are.
static std::string bytes_of(const Tensor& t, int64_t first, int64_t last) {
  std::string bytes;
  for (int64_t i = first; i < std::min(last, t.count()); ++i) bytes += char(t.value(i));
  return bytes;
}

/// Bytes that a person can read. Those of packed numbers can be anything.
static bool reads_as_text(const Tensor& bytes) {
  const std::string text = bytes_of(bytes, 0, bytes.count());
  return is_utf8(text) && std::none_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < '\t'; });
}

/// Numbers [first, last) of a list, aligned; or its bytes as text.
static std::string listed(const Tensor& t, int64_t first, int64_t last, bool is_text) {
  std::string text = first > 0 ? "... " : "";
  if (is_text)
    text += "\"" + printable(valid_utf8(bytes_of(t, first, last))) + "\"";
  else
    for (int64_t i = first; i < std::min(last, t.count()); ++i) text += fmt::format("{:>7}", element(t, i));
  return text + (last < t.count() ? " ..." : "");
}

/// Two lists, of any lengths, one above the other: in full when they are short, else around the first difference; of
/// fractions, which all differ a little, around the worst.
static std::string one_above_the_other(const Tensor& got, const Tensor& want, const std::vector<std::string>& dims,
                                       int64_t worst) {
  if (got.shape().rank() != 1 || want.shape().rank() != 1 || got.count() + want.count() == 0) return "";
  const bool is_text = dims == std::vector<std::string>{"byte"} && reads_as_text(want);
  const int64_t most = is_text ? 60 : 9, before = is_text ? 20 : 3, shorter = std::min(got.count(), want.count());
  const bool fractions = got.dtype() == DType::f32 && got.count() == want.count();
  int64_t first = fractions ? worst : 0;
  while (!fractions && first < shorter && got.value(first) == want.value(first)) ++first;
  if (std::max(got.count(), want.count()) <= most || first <= before)
    first = 0;
  else
    first -= before;
  return fmt::format("\n      yours      {}\n      reference  {}\n", listed(got, first, first + most, is_text),
                     listed(want, first, first + most, is_text));
}

/// "q, k and v are right.", of the call that the first wrong tensor belongs to.
static std::string what_is_right(const std::vector<std::string>& names, const std::string& where) {
  if (names.empty()) return "";
  const std::string list = names.size() <= 6
                               ? join(names)
                               : fmt::format("{} and everything after it, up to {},", names.front(), names.back());
  return fmt::format("  {}{} {} right.\n", where, list, names.size() > 1 ? "are" : "is");
}

/// The indices of the worst element, which was found in the piece of one call, in the whole reference.
static std::string place_of_worst(const Compared& p, const Shape& piece) {
  const std::vector<std::string>& dims = p.reference->dims;
  if (p.comparison.count == 0 || piece.rank() == 0) return place_of(p.comparison.worst, piece, dims);
  const int d = row_dim(dims);
  std::vector<int64_t> whole;
  int64_t inner = 1;  // elements in one row of the piece
  for (int i = 0; i < piece.rank(); ++i) {
    whole.push_back(piece[i] + (i == d ? p.first_row : 0));
    if (i > d) inner *= piece[i];
  }
  const int64_t block = inner * piece[d], at = p.comparison.worst;
  return place_of(at + (at / block + 1) * p.first_row * inner, Shape(whole), dims);
}

std::string describe(const Verdict& verdict, const Case& c) {
  if (verdict.too_much_work) return "";
  std::vector<std::string> right;
  std::string where;
  int64_t call = 0;  // the calls of a case follow each other in rows
  for (const Compared& p : compare_all(verdict.outcome, c)) {
    if (p.first_row != call) {
      call = p.first_row, right.clear();
      where = fmt::format("In the call that begins at row {}, ", call);
    }
    if (p.comparison.pass) {
      right.push_back(p.name);
      continue;
    }
    std::string text = what_is_right(right, where);
    if (!p.comparison.shape_problem.empty()) {
      text += fmt::format("  {} is the first tensor that differs: {}.\n", p.name, p.comparison.shape_problem);
      if (p.first_row > 0) return text;  // the piece of a later call is not the whole
      return text + one_above_the_other(*p.got, p.reference->value, p.reference->dims, 0) + other_rows(p);
    }
    const ConstTensor want = window(*p.reference, *p.got, p.first_row);
    if (want.shape().rank() == 0)  // the sentence above has said it of an output
      return text + (p.reference->is_output
                         ? ""
                         : fmt::format("  {} is the first number that differs: {}.\n", p.name, both(p, want)));
    text += fmt::format("  {} is the first tensor that differs: {} of {}.\n", p.name, p.comparison.wrong,
                        plural(p.comparison.count, "value"));
    text += fmt::format("  The worst is {}: {}.\n", place_of_worst(p, want.shape()), both(p, want));
    const std::vector<std::string>& dims = p.reference->dims;
    const Tensor& whole = p.reference->is_output && p.first_row == 0 ? p.reference->value : want;
    const bool same_length = whole.count() == p.got->count(), is_text = dims == std::vector<std::string>{"byte"};
    const std::string table = same_length && !is_text ? side_by_side(*p.got, want, p.comparison.worst) : "";
    return text + (table.empty() ? one_above_the_other(*p.got, whole, dims, p.comparison.worst) : table);
  }
  return what_is_right(right, where);
}

}  // namespace rungs
