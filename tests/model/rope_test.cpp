// The tables of rotary positions.
#include "rungs/model/rope.hpp"

#include <algorithm>
#include <cmath>

#include "support.hpp"

using namespace rungs;

TEST_SUITE_BEGIN("model");

TEST_CASE("rope tables hold the nearest f32 to every cosine and sine, whatever the length of the context") {
  const RopeConfig config{.theta = 5e5};
  const int64_t D = 6;
  const auto frequencies = rope_frequencies(config, D);
  for (const int64_t context : {1, 255, 256, 257, 131072}) {
    const RopeTables tables = rope_table(config, D, context);
    REQUIRE(tables.cos.shape() == Shape{context, D / 2});
    double worst = 0;
    for (int64_t p = 0; p < context; ++p)
      for (int64_t i = 0; i < D / 2; ++i) {
        const double angle = double(p) * frequencies[size_t(i)];
        worst = std::max({worst, std::abs(double(tables.cos(p, i)) - std::cos(angle)),
                          std::abs(double(tables.sin(p, i)) - std::sin(angle))});
      }
    CAPTURE(context);
    CHECK(worst <= 0x1p-25 + 1e-10);  // half of the last place below 1, and angles up to 131,072 in double
  }
}

TEST_SUITE_END();
