#include "rungs/grader/judge.hpp"

#include <cmath>
#include <limits>

#include "contains.hpp"
#include "rungs/base/text.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

/// f64 values 0, 1, 2, ... times `step`
Tensor ramp(const Shape& shape, double step = 1) {
  Tensor t(shape, DType::f64);
  for (int64_t i = 0; i < t.count(); ++i) t.data<double>()[i] = step * double(i);
  return t;
}

Reference reference(const char* name, const Shape& shape, std::vector<std::string> dims, bool is_output) {
  Reference r;
  r.name = name, r.value = ramp(shape), r.dims = std::move(dims), r.absolute = 1e-6, r.is_output = is_output;
  return r;
}

/// A case with the taps q (5, 2) and scores (5, 5), and the output out (5, 3).
Case small_case() {
  Case c;
  c.input.name = "small";
  c.references.push_back(reference("q", {5, 2}, {"token", "dim"}, false));
  c.references.push_back(reference("scores", {5, 5}, {"query", "key"}, false));
  c.references.push_back(reference("out", {5, 3}, {"token", "channel"}, true));
  return c;
}

/// Rows [first, first + n) of a reference as f32, cut to `cols` columns.
Tensor rows_of(const Case& c, const char* name, int64_t first, int64_t n, int64_t cols = -1) {
  const Tensor& whole = c.find(name)->value;
  Tensor part({n, cols < 0 ? whole.dim(1) : cols});
  for (int64_t r = 0; r < n; ++r)
    for (int64_t i = 0; i < part.dim(1); ++i) part(r, i) = float(whole.at<double>(first + r, i));
  return part;
}

/// Adds one call to an outcome: rows [first, first + n) of everything.
void add_call(Outcome& o, const Case& c, int64_t first, int64_t n) {
  o.how = Outcome::done;
  o.recording.add("q", rows_of(c, "q", first, n), false);
  o.recording.add("scores", rows_of(c, "scores", first, n, first + n), false);
  o.recording.output("out", rows_of(c, "out", first, n));
}

Outcome whole(const Case& c) {
  Outcome o;
  add_call(o, c, 0, 5);
  return o;
}

Recorded& piece(Outcome& o, size_t i) { return o.recording.pieces.at(i); }

}  // namespace

TEST_SUITE_BEGIN("judge");

/// What came from a run or a file is read-only; here it is spoiled on purpose.
static Tensor& writable(ConstTensor& tensor) { return const_cast<Tensor&>(static_cast<const Tensor&>(tensor)); }

TEST_CASE("a right answer in one call and in many") {
  const Case c = small_case();
  for (const std::vector<int64_t>& split : {std::vector<int64_t>{5}, {1, 1, 1, 1, 1}, {2, 3}, {4, 1}}) {
    Outcome o;
    int64_t first = 0;
    for (const int64_t n : split) add_call(o, c, first, n), first += n;
    const Verdict v = judge(std::move(o), c);
    INFO(v.summary);
    CHECK(v.pass);
    CHECK(v.summary.empty());
    CHECK(describe(v, c).find("differs") == std::string::npos);
  }
}

TEST_CASE("a window is the rows that follow, and for scores the keys that there are") {
  const Case c = small_case();
  const Reference& scores = *c.find("scores");
  const ConstTensor all = window(scores, Tensor({5, 5}), 0);
  CHECK(all.shape() == Shape{5, 5});
  const ConstTensor later = window(scores, Tensor({2, 4}), 2);
  REQUIRE(later.shape() == Shape{2, 4});
  CHECK(values(later) == std::vector<double>{10, 11, 12, 13, 15, 16, 17, 18});
  CHECK(window(*c.find("q"), Tensor({2, 1}), 0).shape() == Shape{2, 2});  // fewer columns are no fewer keys
  CHECK(window(scores, Tensor({5, 5}), 1).shape() == Shape{5, 5});        // more rows than are left: all, to differ
  CHECK(window(scores, Tensor({25}), 0).shape() == Shape{5, 5});          // another rank
  Reference scalar;
  scalar.value = Tensor(Shape{}, DType::f64);
  CHECK(window(scalar, Tensor(Shape{}), 0).count() == 1);
}

TEST_CASE("a tolerance for each element is cut like its reference") {
  Case c = small_case();
  Reference& scores = c.references[1];
  scores.each = Tensor({5, 5}, DType::f64);
  std::fill_n(writable(scores.each).data<double>(), 25, 1e-9);
  writable(scores.each).at<double>(3, 1) = 0.5;
  Outcome o;
  add_call(o, c, 0, 3), add_call(o, c, 3, 2);
  writable(piece(o, 4).value)(0, 1) += 0.25f;  // row 3, key 1: allowed
  CHECK(compare_all(o.recording, c)[4].comparison.pass);
  writable(piece(o, 4).value)(1, 1) += 0.25f;
  CHECK_FALSE(compare_all(o.recording, c)[4].comparison.pass);
}

TEST_CASE("wrong values, and which is the worst") {
  const Case c = small_case();
  Outcome o = whole(c);
  writable(piece(o, 1).value)(2, 3) += 1, writable(piece(o, 1).value)(4, 0) += 3;
  writable(piece(o, 2).value)(1, 2) -= 2;
  const Verdict v = judge(std::move(o), c);
  CHECK_FALSE(v.pass);
  CHECK(v.summary == "1 of 15 values of out is wrong");
  CHECK(v.fraction == doctest::Approx(2e6));
  const std::string text = describe(v, c);
  CHECK(text == Contains("  q is right.\n"));
  CHECK(text == Contains("scores is the first tensor that differs: 2 of 25 values."));
  CHECK(text == Contains("The worst is query 4, key 0: yours 23, reference 20 (3e+06 times the tolerance)."));
}

TEST_CASE("a later call is told by its place in the whole") {
  const Case c = small_case();
  Outcome o;
  add_call(o, c, 0, 3), add_call(o, c, 3, 1), add_call(o, c, 4, 1);
  writable(piece(o, 7).value)(0, 2) = -std::numeric_limits<float>::infinity();  // scores of the third call
  const std::string text = describe(judge(std::move(o), c), c);
  CHECK(text == Contains("In the call that begins at row 4, q is right."));
  CHECK(text == Contains("The worst is query 4, key 2: yours -inf, reference 22.\n"));
}

TEST_CASE("small matrices are shown beside the reference, large ones are not") {
  const Case c = small_case();
  Outcome o;
  add_call(o, c, 0, 2), add_call(o, c, 2, 3);
  writable(piece(o, 1).value)(1, 1) = 7.25f;
  const std::string text = describe(judge(std::move(o), c), c);
  CHECK(text == Contains("yours                reference\n"));
  CHECK(text == Contains("        0        1           0        1\n"));
  CHECK(text == Contains("        5     7.25           5        6\n"));
  Outcome large = whole(c);
  writable(piece(large, 1).value)(0, 0) = 1;
  CHECK(describe(judge(std::move(large), c), c).find("reference\n") == std::string::npos);
}

TEST_CASE("not a number, infinite, never written") {
  const Case c = small_case();
  const auto summary = [&](float value) {
    Outcome o = whole(c);
    writable(piece(o, 2).value)(0, 1) = value;
    const Verdict v = judge(std::move(o), c);
    CHECK_FALSE(v.pass);
    CHECK(std::isinf(v.fraction));
    return v.summary;
  };
  CHECK(summary(std::nanf("")) == "1 of 15 values of out is wrong, 1 not a number");
  CHECK(summary(-INFINITY) == "1 of 15 values of out is wrong, 1 infinite");
  CHECK(summary(std::bit_cast<float>(never_written)) == "1 of 15 values of out is wrong, 1 never written");
}

TEST_CASE("shapes, missing rows, rows too many, nothing at all") {
  const Case c = small_case();
  Outcome turned = whole(c);
  piece(turned, 2).value = Tensor({3, 5});
  const Verdict v = judge(std::move(turned), c);
  CHECK(v.summary == "out: its shape is (3, 5), wanted (3, 3)");
  CHECK(describe(v, c) == Contains("out is the first tensor that differs: its shape is (3, 5)"));

  Outcome few;
  add_call(few, c, 0, 2);
  const Verdict v_few = judge(std::move(few), c);
  CHECK(v_few.summary == "out: its shape is (2, 3), wanted (5, 3)");
  CHECK(std::isinf(v_few.fraction));  // two right rows are no answer that is within the tolerance
  Outcome many = whole(c);
  many.recording.output("out", rows_of(c, "out", 0, 1));
  CHECK_FALSE(judge(std::move(many), c).pass);
  Outcome none;
  none.how = Outcome::done;
  CHECK(judge(std::move(none), c).summary == "0 of 5 rows of out came back");
}

TEST_CASE("a tap that lacks rows is the first that differs, unless it was left out of a call or the run broke off") {
  const Case c = small_case();
  const auto told = [&](std::vector<int64_t> calls, std::vector<int64_t> rows_of_q, Outcome::How how = Outcome::done) {
    Outcome o;
    int64_t first = 0, first_q = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (rows_of_q[i] > 0) o.recording.add("q", rows_of(c, "q", first_q, rows_of_q[i]), false);
      o.recording.output("out", rows_of(c, "out", first, calls[i]));
      first += calls[i], first_q += rows_of_q[i];
    }
    writable(o.recording.pieces.back().value)(0, 0) = 99;
    o.how = how;
    return describe(judge(std::move(o), c), c);
  };
  CHECK(told({5}, {5}) == Contains("  q is right.\n  out is the first tensor that differs: 1 of 15 values."));
  CHECK(told({5}, {3}) == Contains("  q is the first tensor that differs: its shape is (3, 2), wanted (5, 2).\n"));
  CHECK(told({3, 2}, {3, 1}) ==
        Contains("q is the first tensor that differs: its shape is (4, 2) in all, wanted (5, 2)."));
  CHECK(told({3, 2}, {3, 0}) == Contains("out is the first tensor that differs: 1 of 6 values."));
  CHECK(told({5}, {3}, Outcome::threw) == Contains("  q is right.\n"));
}

TEST_CASE("of a matrix with more or fewer rows those around the first that differs are shown") {
  Case c;
  c.references.push_back(reference("fed", {6, 2}, {"piece", "column"}, true));
  const auto told = [&](int64_t rows, int64_t wrong_row) {
    Tensor got({rows, 2});
    for (int64_t i = 0; i < got.count(); ++i) got.flat(i) = float(i);
    if (wrong_row >= 0) got(wrong_row, 1) = 70;
    Outcome o;
    o.how = Outcome::done;
    o.recording.output("fed", got);
    return describe(judge(std::move(o), c), c);
  };
  CHECK(told(7, 0) ==
        "  fed is the first tensor that differs: its shape is (7, 2), wanted (6, 2).\n"
        "\n      yours                reference\n"
        "            0       70           0        1\n"
        "            2        3           2        3\n"
        "            4        5           4        5\n"
        "            6        7           6        7\n");
  CHECK(told(7, 5) == Contains("  From piece 5 on:\n"
                               "\n      yours                reference\n"
                               "           10       70          10       11\n"
                               "           12       13\n"));
  CHECK(told(5, -1) == Contains("  From piece 5 on:\n"
                                "\n      yours                reference\n"
                                "                                10       11\n"));
  CHECK(told(0, -1) == Contains("its shape is (0, 2), wanted (6, 2).\n\n      yours "));
}

TEST_CASE("a tap is no output, and an output of another name counts for nothing") {
  const Case c = small_case();
  Outcome o = whole(c);
  piece(o, 2).is_output = false;
  CHECK(judge(std::move(o), c).summary == "0 of 5 rows of out came back");
  Outcome renamed = whole(c);
  piece(renamed, 2).name = "answer";
  CHECK_FALSE(judge(std::move(renamed), c).pass);
  Outcome wrong_taps = whole(c);
  writable(piece(wrong_taps, 0).value)(0, 0) = 99;
  CHECK(judge(std::move(wrong_taps), c).pass);  // it only helps to find a mistake
}

TEST_CASE("endings") {
  const Case c = small_case();
  Case error;
  error.error = "token id 30 is not below 30";
  const auto ended = [](Outcome::How how) {
    Outcome o;
    o.how = how, o.says = "boom";
    return o;
  };
  CHECK(judge(ended(Outcome::threw), error).pass);
  CHECK(judge(ended(Outcome::done), error).summary ==
        "It returned as if all were well; it must throw: token id 30 is not below 30");
  CHECK_FALSE(judge(ended(Outcome::died), error).pass);
  CHECK(judge(ended(Outcome::not_written), error).summary == "not written yet: boom");
  CHECK(judge(ended(Outcome::threw), c).summary == "It threw: boom");
  Outcome threw_a_number = ended(Outcome::threw);
  threw_a_number.no_exception = true;
  const Verdict unearned = judge(std::move(threw_a_number), error);
  CHECK_FALSE(unearned.pass);
  CHECK(unearned.summary == "It threw boom; it must throw an exception: token id 30 is not below 30");
  CHECK(judge(ended(Outcome::died), c).summary == "boom");
  Outcome right_and_dead = whole(c);
  right_and_dead.how = Outcome::died;
  CHECK_FALSE(judge(std::move(right_and_dead), c).pass);
}

TEST_CASE("work is counted only where the case says how much is enough") {
  Case c = small_case();
  Outcome o = whole(c);
  o.recording.linear_rows = 30;
  CHECK(judge(std::move(o), c).pass);
  c.linear_rows = 20;
  Outcome twice = whole(c);
  twice.recording.linear_rows = 30;
  const Verdict v = judge(std::move(twice), c);
  CHECK_FALSE(v.pass);
  CHECK(v.too_much_work);
  CHECK(v.summary == "The answer is right, but 30 rows went through ops.linear, and 20 are enough");
  Outcome wrong = whole(c);
  wrong.recording.linear_rows = 30, writable(piece(wrong, 2).value)(0, 0) = 5;
  CHECK_FALSE(judge(std::move(wrong), c).too_much_work);
}

TEST_CASE("integers are equal or wrong") {
  Case c;
  Reference r;
  r.name = "tokens", r.is_output = true, r.dims = {"step"}, r.absolute = 10;
  r.value = Tensor({3}, DType::i32);
  c.references.push_back(std::move(r));
  Outcome o;
  o.how = Outcome::done;
  Tensor got({3}, DType::i32);
  got.at<int32_t>(1) = 1;
  o.recording.output("tokens", got);
  CHECK(judge(std::move(o), c).summary == "1 of 3 values of tokens is wrong");
}

TEST_CASE("counts are shown in full, however long, and one number is no tensor") {
  Case c;
  for (const bool is_output : {false, true}) {
    Reference r;
    r.name = is_output ? "parameters" : "feed_forward", r.is_output = is_output;
    r.value = Tensor(Shape{}, DType::i64);
    writable(r.value).at<int64_t>() = is_output ? 8030261248 : (int64_t(1) << 60) + 1;  // the second is no double
    c.references.push_back(std::move(r));
  }
  const auto outcome = [](int64_t feed_forward, int64_t parameters) {
    Outcome o;
    o.how = Outcome::done;
    o.recording.add("feed_forward", Tensor::view_of(&feed_forward, {}, DType::i64), false);
    o.recording.output("parameters", Tensor::view_of(&parameters, {}, DType::i64));
    return o;
  };
  const Verdict v = judge(outcome(int64_t(1) << 60, 7489994752), c);
  CHECK(v.summary == "parameters is wrong: yours 7,489,994,752, reference 8,030,261,248");
  CHECK(describe(v, c) ==
        "  feed_forward is the first number that differs: yours 1,152,921,504,606,846,976, reference "
        "1,152,921,504,606,846,977.\n");
  CHECK(judge(outcome(0, 8030261248), c).pass);
  CHECK(describe(judge(outcome((int64_t(1) << 60) + 1, 1), c), c) == "  feed_forward is right.\n");
}

TEST_CASE("ids are shown in full, without commas") {
  Case c;
  Reference r;
  r.name = "tokens", r.is_output = true, r.dims = {"step"}, r.value = Tensor({2}, DType::i32);
  writable(r.value).at<int32_t>(1) = 128009;
  c.references.push_back(std::move(r));
  Outcome o;
  o.how = Outcome::done;
  o.recording.output("tokens", Tensor({2}, DType::i32));
  CHECK(describe(judge(std::move(o), c), c) == Contains("The worst is step 1: yours 0, reference 128009.\n"));
}

TEST_CASE("words") {
  CHECK(join({}) == "");
  CHECK(join({"q"}) == "q");
  CHECK(join({"q", "k", "v"}) == "q, k and v");
  CHECK(number(NAN) == "nan");
  CHECK(number(-INFINITY) == "-inf");
  CHECK(number(0.000087312) == "8.731e-05");
  CHECK(number(3) == "3");
}

namespace {

/// An outcome of one list, and a case that wants another.
std::string described(const char* dim, std::vector<int32_t> got, std::vector<int32_t> want) {
  const auto list = [](const std::vector<int32_t>& values) {
    Tensor t({int64_t(values.size())}, DType::i32);
    std::copy(values.begin(), values.end(), t.data<int32_t>());
    return t;
  };
  Case c;
  Reference r;
  r.name = "ids", r.value = list(want), r.dims = {dim}, r.is_output = true;
  c.references.push_back(std::move(r));
  Outcome o;
  o.how = Outcome::done;
  o.recording.output("ids", list(got));
  return describe(judge(std::move(o), c), c);
}

}  // namespace

TEST_CASE("lists and texts stand one above the other, of different lengths too") {
  CHECK(described("token", {5, 7, 9}, {5, 7, 8, 9}) ==
        Contains("      yours            5      7      9\n      reference        5      7      8      9\n"));
  CHECK(described("byte", {'a', 'b', '\033'}, {'a', 'b', 'c'}) ==
        Contains("      yours      \"ab \"\n      reference  \"abc\"\n"));
  CHECK(described("byte", {'a', 0xc3}, {'a', 'b'}) == Contains("      yours      \"a\uFFFD\"\n"));
  CHECK(described("byte", {118, 200}, {103, 0xb5}) == Contains("      yours          118    200\n"));
  std::vector<int32_t> many(40, 1), other = many;
  other[20] = 2;
  CHECK(described("token", other, many) == Contains("yours      ...       1      1      1      2      1"));
}

TEST_SUITE_END();
