// Lesson 22 beside rungs/analysis.
#include "rungs/analysis/memory.hpp"

#include <stdexcept>

#include "22_memory/lesson.hpp"
#include "rungs/model/llama.hpp"
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

TEST_CASE("lesson 22: the workspace is what the library plans, without the rows whose logits are wanted") {
  for (const std::string& name : shape_names())
    for (const int64_t rows : {1, 7, 512}) {
      const Config c = *preset(name);
      CAPTURE(name);
      CAPTURE(rows);
      int64_t numbers = 0;
      LlamaScratch::each(c, rows, [&](auto, const Shape& shape) { numbers += shape.count(); });
      CHECK(lesson_22::workspace_bytes(c, rows) == 4 * (numbers - rows * c.hidden_size));
    }
}

TEST_CASE("lesson 22: quantized bytes are those of the library's blocks") {
  for (const int64_t blocks : {1, 3, 1000}) {
    CHECK(lesson_22::quantized_bytes(32 * blocks, 8) == bytes_of(DType::q8_0, 32 * blocks));
    CHECK(lesson_22::quantized_bytes(32 * blocks, 4) == bytes_of(DType::q4_0, 32 * blocks));
    CHECK(lesson_22::quantized_bytes(32 * blocks + 1, 8) == lesson_22::quantized_bytes(32 * blocks + 32, 8));
  }
}

TEST_CASE("lesson 22: pages hold every token, and less than a page is left") {
  const Config c = *preset("TinyLlama");
  for (const int64_t page : {1, 16, 100})
    for (const int64_t context : {0, 1, 16, 99, 100, 101}) {
      const int64_t left = lesson_22::paged_bytes(c, context, page, 2) - lesson_22::cache_bytes(c, context, 2);
      CHECK(left >= 0);
      CHECK(left < lesson_22::cache_bytes(c, page, 2));
    }
}

TEST_SUITE_END();
