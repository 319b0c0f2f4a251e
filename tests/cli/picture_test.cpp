// Pictures as text, as numbers and as a page.
#include "show/picture.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli.hpp"
#include "contains.hpp"
#include "rungs/tensor/npy.hpp"
#include "show/picture_lines.hpp"
#include "show/show.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

namespace {

/// Every kind of picture, with names that are wide, long, and mean something to HTML.
Drawing all_kinds() {
  Matrix m{"a <table> & more",
           {"red", "红色", "a very long name of a row"},
           {"x", "y", "z"},
           {0, 0.01, 1, -0.5, 0, 0.3, std::nan(""), 2, -2}};
  m.shades = Shades::sign;
  Matrix texts{
      "words", {"a", "b"}, {"first", "second"}, {1, 0.5, 0.2, 0}, {"cat", "dog", "a word that is too long", ""}};
  const Bars bars{"bars", {"one", "two"}, {{"before", {1, 2}}, {"after", {3, std::nan("")}}}};
  const Lines lines{"lines", "tokens", "bytes", {{"f32", {0, 10}, {0, 5}}, {"bf16", {0, 5, 10}, {0, 2, 2.5}}}};
  const Points points{"points", "first", "second", {{"<b>", 0, 0, true}, {"cat", 1, 2}, {"dog", 1, 2}}};
  const Tree tree{"tree", {{"her", "", {{"h"}, {"er", "2", {{"e"}, {"r"}}}}}}};
  return {"Everything",
          "a \"test\"",
          {"Nothing was left out."},
          {{"One", "Some words.", {m, texts, bars, lines}}, {"Two", "", {points, tree}}}};
}

int widest(const std::string& text) {
  std::istringstream lines(text);
  int most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, columns_of(line));
  return most;
}

}  // namespace

TEST_CASE("only zero has level 0, and nothing leaves the scale") {
  CHECK(level_of(0, 1, 12) == 0);
  CHECK(level_of(1e-30, 1, 12) == 1);
  CHECK(level_of(-1e-30, 1, 12) == -1);
  CHECK(level_of(0.5, 1, 12) == 6);
  CHECK(level_of(1, 1, 12) == 12);
  CHECK(level_of(7, 1, 12) == 12);
  CHECK(level_of(-INFINITY, 1, 12) == -12);
}

TEST_CASE("no line of a drawing is wider than the terminal, with colours and without") {
  for (const int width : {narrowest, 40, 80, 200})
    for (const bool colour : {false, true}) {
      const std::string text = to_text(all_kinds(), {width, colour});
      CAPTURE(width);
      INFO(text);
      CHECK(widest(text) <= width);
      CHECK((text.find("\033[") != text.npos) == colour);
    }
}

TEST_CASE("zero, small and large cells can be told apart without colour") {
  Matrix m{"m", {"row"}, {"a", "b", "c", "d"}, {0, 0.01, 0.3, 1}};
  const std::string text = to_text({"t", "d", {}, {{"h", "", {m}}}}, {80, false});
  CHECK(text == Contains("row · "));
  CHECK(text == Contains("▒▒██"));
}

TEST_CASE("what does not fit on a terminal is counted") {
  Matrix m{"wide", {"row"}, std::vector<std::string>(300, "c"), std::vector<double>(300, 1)};
  const std::string text = to_text({"t", "d", {}, {{"h", "", {m}}}}, {40, false});
  CHECK(text == Contains("of 300 columns; all: --html)"));
}

TEST_CASE("wide characters count twice, escapes not at all, and a cut text says so") {
  CHECK(columns_of("红色") == 4);
  CHECK(columns_of("\033[1mab\033[0m") == 2);
  CHECK(cut("红色红色", 5) == "红色…");
  CHECK(cut("abc", 3) == "abc");
}

TEST_CASE("a page needs nothing but itself, and names from outside command nothing") {
  const std::string page = to_page(all_kinds());
  for (const char* from_elsewhere : {"http:", "https:", "src=", "@import", "url("})
    CHECK(page.find(from_elsewhere) == page.npos);
  CHECK(page.find("<table>") == page.npos);
  CHECK(page.find("<b>") == page.npos);
  CHECK(page == Contains("a &lt;table&gt; &amp; more"));
  CHECK(page == Contains("prefers-color-scheme: dark"));
}

TEST_CASE("a fragment can stand in a page: no page of its own, and no rule that touches another element") {
  const std::string fragment = to_fragment(all_kinds());
  CHECK(fragment.find("<html") == fragment.npos);
  CHECK(fragment.find("<h1") == fragment.npos);
  CHECK(fragment.find("role=\"img\"") == fragment.npos);  // check_docs counts those as formulas
  const std::string rules = fragment.substr(fragment.find("<style>") + 7, fragment.find("</style>") - 7);
  std::istringstream parts(rules);
  for (std::string rule; std::getline(parts, rule, '}');)
    if (rule.find('{') != rule.npos) CHECK(rule.find(".rungs-show") != rule.npos);
}

TEST_CASE("a picture with fewer values than names is refused, whatever it becomes") {
  const Matrix m{"m", {"row"}, {"a", "b"}, {1}};
  const Bars bars{"b", {"one", "two"}, {{"s", {1}}}};
  const Lines lines{"l", "x", "y", {{"line", {1, 2}, {1}}}};
  for (const Picture& picture : {Picture(m), Picture(bars), Picture(lines)}) {
    const Drawing drawing{"t", "d", {}, {{"h", "", {picture}}}};
    CHECK_THROWS_AS(to_text(drawing, {}), Error);
    CHECK_THROWS_AS(to_json(drawing), Error);
    CHECK_THROWS_AS(to_page(drawing), Error);
    CHECK_THROWS_AS(to_fragment(drawing), Error);
  }
}

TEST_CASE("the numbers of a drawing are JSON, where NaN is null") {
  const auto json = nlohmann::json::parse(to_json(all_kinds()));
  const auto& matrix = json["sections"][0]["pictures"][0];
  CHECK(matrix["kind"] == "matrix");
  CHECK(matrix["scale"] == 2.0);
  CHECK(matrix["values"][0][2] == 1.0);
  CHECK(matrix["values"][2][0].is_null());
  CHECK(json["sections"][1]["pictures"][1]["roots"][0]["children"][1]["note"] == "2");
}

TEST_CASE("attention weights from queries and keys are those of the reference, for every head") {
  for (const char* name : {"09_multi_head", "10_grouped_query"}) {
    size_t compared = 0;
    for (const Case& c : load_cases(std::filesystem::path(RUNGS_SOURCE_DIR) / "weights/references" / name)) {
      const Reference* reference = c.find("weights");
      if (c.input.run != "sdpa" || !reference || c.input["q"].dim(0) != c.input["k"].dim(0)) continue;
      const Tensor got = attention_weights(c.input["q"], c.input["k"]);
      CHECK(compare(got, reference->value, reference->tolerance()).pass);
      ++compared;
    }
    CHECK(compared > 0);
  }
}

TEST_CASE("attention weights of shapes that do not fit are refused") {
  CHECK_THROWS_AS(attention_weights(Tensor({2, 3, 4}), Tensor({2, 2, 4})), ShapeError);
  CHECK_THROWS_AS(attention_weights(Tensor({2, 4}), Tensor({3, 4})), ShapeError);
}

TEST_CASE("points on a slanted line in many dimensions differ along one component only") {
  Tensor rows({5, 3});
  for (int64_t n = 0; n < 5; ++n)
    for (int64_t c = 0; c < 3; ++c) rows(n, c) = float(n * (c + 1) + 7);
  const Tensor at = principal_components(rows);  // (5, 2)
  for (int64_t n = 0; n < 5; ++n) {
    CHECK(std::fabs(at(n, 0) - double(n - 2) * std::sqrt(14.0)) < 1e-5);
    CHECK(std::fabs(at(n, 1)) < 1e-5);
  }
}

TEST_SUITE_END();
