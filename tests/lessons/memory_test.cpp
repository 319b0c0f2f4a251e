// Lesson 22 beside rungs/analysis.
#include "rungs/analysis/memory.hpp"

#include <stdexcept>

#include "22_memory/lesson.hpp"
#include "rungs/model/memory_estimate.hpp"
#include "rungs/model/presets.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

TEST_CASE("lesson 22: counts are those of the library, for every published shape") {
  for (const std::string& name : shape_names()) {
    const Config c = *preset(name);
    CAPTURE(name);
    CHECK(lesson_22::parameters(c) == count_parameters(c).total());
    CHECK(lesson_22::course_parameters(c) == count_parameters(c, Formula::course).total());
    CHECK(lesson_22::cache_bytes(c, 777, 2) == 2 * cache_elements(c, 777));
    for (const int64_t gpus : {1, 2, 3, 4, 6, 8, 12, 16, 32}) {
      CAPTURE(gpus);
      GpuShare library;
      try {
        library = share_of_gpu(c, 777, gpus);
      } catch (const UsageError&) {
        CHECK_THROWS_AS(lesson_22::per_gpu(c, gpus, 777, 2, 2), std::invalid_argument);
        continue;
      }
      const lesson_22::Share share = lesson_22::per_gpu(c, gpus, 777, 2, 4);
      CHECK(share.parameter_bytes == 2 * library.parameters);
      CHECK(share.cache_bytes == 4 * library.cache_elements);
    }
  }
}

TEST_CASE("lesson 22: the largest batch is the library's, and one more does not fit") {
  for (const int64_t memory : {100, 1000, 1001, 1099, 1100, 1101, 5000})
    for (const int64_t cache : {1, 7, 100}) {
      const int64_t batch = lesson_22::largest_batch(memory, 1000, cache);
      CHECK(batch == largest_batch(memory, 1000, cache));
      CHECK(lesson_22::batch_bytes(1000, cache, batch + 1) > memory);
      if (batch) CHECK(lesson_22::batch_bytes(1000, cache, batch) <= memory);
    }
}

TEST_SUITE_END();
