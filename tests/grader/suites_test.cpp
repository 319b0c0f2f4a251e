#include "rungs/grader/suites.hpp"

#include <algorithm>
#include <set>

#include "contains.hpp"
#include "learner/lessons.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("suites");

TEST_CASE("a lesson without a cache has its cases, in order, and no kv_evaluate") {
  const std::vector<Case> cases = cases_of(lesson_called("06_causal_mask"), Suite::evaluate);
  REQUIRE(cases.size() >= 10);
  CHECK(std::is_sorted(cases.begin(), cases.end(),
                       [](const Case& a, const Case& b) { return a.input.name < b.input.name; }));
  CHECK_FALSE(lesson_called("06_causal_mask").has_cache());
  CHECK(cases_of(lesson_called("06_causal_mask"), Suite::kv_evaluate).empty());
}

TEST_CASE("every split of a short prompt, once") {
  const Lesson& l = lesson_called("08_kv_cache");
  REQUIRE(l.has_cache());
  std::map<std::string, std::set<std::vector<double>>> splits;  // of each prompt
  std::map<std::string, int64_t> tokens;
  for (const Case& c : cases_of(l, Suite::kv_evaluate)) {
    if (c.input.run != "prompt") continue;
    const std::vector<double> split = values(c.input["split"]);
    int64_t sum = 0;
    for (const double n : split) {
      CHECK(n >= 1);
      sum += int64_t(n);
    }
    CHECK(sum == c.input["tokens"].count());
    CHECK(c.linear_rows.has_value());
    const std::string prompt = c.input.name.substr(0, c.input.name.find(" split "));
    tokens[prompt] = sum;
    const bool alone = !c.input.in.count("before") && !c.input.in.count("beside");
    INFO(c.input.name);
    if (alone) CHECK(splits[prompt].insert(split).second);  // no split comes twice
  }
  REQUIRE(tokens.size() >= 2);
  bool long_one = false, short_one = false;
  for (const auto& [prompt, T] : tokens) {
    CAPTURE(prompt);
    CAPTURE(T);
    if (T <= 7) {
      short_one = true;
      CHECK(splits[prompt].size() == size_t(1) << (T - 1));
    } else {
      long_one = true;
      CHECK(splits[prompt].count({double(T)}) == 1);
      CHECK(splits[prompt].count(std::vector<double>(size_t(T), 1.0)) == 1);
      CHECK(splits[prompt].size() >= 6);
    }
  }
  CHECK(short_one);
  CHECK(long_one);
}

TEST_CASE("a cache is used again, and beside another sequence") {
  size_t before = 0, beside = 0;
  for (const Case& c : cases_of(lesson_called("08_kv_cache"), Suite::kv_evaluate)) {
    before += c.input.in.count("before"), beside += c.input.in.count("beside");
    if (c.input.in.count("beside")) CHECK(c.input["beside"].count() != 0);
  }
  CHECK(before >= 2);
  CHECK(beside >= 1);
}

TEST_CASE("a folder without cases is an error, and no suite of none") {
  Folder folder;
  Lesson l;
  l.references = folder.path();
  CHECK_THROWS_WITH_AS(cases_of(l, Suite::evaluate), Contains("wanted reference cases, found none"), FileError);
}

TEST_SUITE_END();
