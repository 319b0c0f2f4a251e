#include "rungs/ops/processor.hpp"

#include <algorithm>

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("processor");

TEST_CASE("one vector target is used, and it is the best of those that run here") {
  const std::vector<VectorTarget> targets = vector_targets();
  const auto used = std::find_if(targets.begin(), targets.end(), [](const VectorTarget& t) { return t.used; });
  REQUIRE(used != targets.end());
  CHECK(used->runs_here);
  CHECK(std::none_of(targets.begin(), used, [](const VectorTarget& t) { return t.runs_here; }));
  CHECK(std::count_if(targets.begin(), targets.end(), [](const VectorTarget& t) { return t.used; }) == 1);
}

// tests/CMakeLists.txt names the targets on which the operations are tested.
TEST_CASE("no vector target of this program is left without its tests") {
  const std::string tested = " " RUNGS_TESTED_TARGETS " ";
  for (const VectorTarget& t : vector_targets()) {
    CAPTURE(t.name);
    CHECK(tested.find(" " + t.name + " ") != std::string::npos);
  }
}

TEST_CASE("a target that is not there is refused with those that are") {
  CHECK_THROWS_WITH_AS(use_vector_target("AVX9"), Contains("no vector target AVX9 here; this processor runs "),
                       UsageError);
}

TEST_SUITE_END();
