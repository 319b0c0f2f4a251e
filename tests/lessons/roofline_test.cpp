// Lesson 23 beside rungs/analysis.
#include "rungs/analysis/roofline.hpp"

#include "23_roofline/lesson.hpp"
#include "rungs/model/presets.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

/// Whole numbers that a double holds: equal or not.
static bool same(const lesson_23::Cost& ours, const Cost& library) {
  return ours.flops == library.flops && ours.bytes == library.bytes;
}

TEST_CASE("lesson 23: attention has the FLOPs and bytes that the library derives") {
  for (const int64_t N : {1, 7, 1024, 131072})
    for (const int64_t d : {3, 128})
      for (const int64_t bytes : {1, 2, 4}) {
        CAPTURE(N);
        CAPTURE(d);
        CAPTURE(bytes);
        CHECK(same(lesson_23::prefill_attention(N, d, bytes), prefill_attention(N, d, bytes)));
        for (const int64_t batch : {1, 5, 520}) {
          CHECK(same(lesson_23::decode_attention(N, d, batch, false, bytes),
                     decode_attention(N, d, batch, bytes, Caches::own)));
          CHECK(same(lesson_23::decode_attention(N, d, batch, true, bytes),
                     decode_attention(N, d, batch, bytes, Caches::shared)));
        }
      }
}

TEST_CASE("lesson 23: the products of every published shape have the FLOPs that the library counts") {
  for (const std::string& name : shape_names())
    for (const Call& call : {Call{1, 100, 0}, Call{3, 1, 99}, Call{2, 5, 7}}) {
      const Config c = *preset(name);
      CAPTURE(name);
      CAPTURE(call.rows);
      double products = 0;
      for (const Operation& operation : operations(c, call, {}))
        if (operation.name != "attention") products += operation.cost.flops;
      const lesson_23::Cost attention =
          double(c.num_layers * call.batch * c.num_kv_heads) *
          lesson_23::attention(c.num_heads / c.num_kv_heads * call.rows, call.past + call.rows, c.head_dim, 2);
      CHECK(lesson_23::forward(c, call.batch, call.rows, call.past, 2).flops - attention.flops == products);
    }
}

TEST_CASE("lesson 23: the roof is the library's") {
  for (const std::string& name : roof_names()) {
    const DevicePeak roof = *named_device_peak(name);
    CHECK(lesson_23::ridge(roof.bandwidth, roof.flops) == roof.ridge());
    for (const double intensity : {0.1, 1.0, roof.ridge(), 1000.0})
      CHECK(lesson_23::attainable(intensity, roof.bandwidth, roof.flops) == roof.attainable(intensity));
  }
}

TEST_SUITE_END();
