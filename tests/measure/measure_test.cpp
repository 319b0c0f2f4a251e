#include "rungs/measure/measure.hpp"

#include "support.hpp"

using namespace rungs;

TEST_SUITE_BEGIN("measure");

TEST_CASE("the median is the middle one, of an even count the mean of the two in the middle") {
  CHECK(median({5}) == 5);
  CHECK(median({9, 1, 4}) == 4);
  CHECK(median({8, 1}) == 4.5);
  CHECK(median({7, 1, 100, 3}) == 5);
}

TEST_SUITE_END();
