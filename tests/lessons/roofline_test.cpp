// Lesson 23 beside rungs/analysis.
#include "rungs/analysis/roofline.hpp"

#include <cmath>
#include <tuple>

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
      CHECK(lesson_23::forward(c, call.batch, call.rows, call.past, 2).total().flops - attention.flops == products);
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

TEST_CASE("lesson 23: the answers of the page's problems") {
  const Config c = *preset("Llama-3-8B");
  const DevicePeak gpu = *named_device_peak("H100");
  const auto ms = [&](int64_t batch, int64_t rows, int64_t past, double faster = 1, double wider = 1) {
    const std::vector<lesson_23::Cost> parts = lesson_23::forward(c, batch, rows, past, 2).parts();
    return 1e3 * lesson_23::least_seconds(parts, wider * gpu.bandwidth, faster * gpu.flops);
  };
  const auto rounds_to = [](double value, double page, double last_digit) {
    return std::abs(value - page) <= last_digit / 2;
  };
  double steps = 0;
  for (int64_t past = 1024; past < 1024 + 255; ++past) steps += ms(1, 1, past);
  CHECK(rounds_to(ms(1, 1024, 0), 17.5, 0.1));
  CHECK(rounds_to(steps, 1155, 1));
  CHECK(rounds_to(ms(1, 1024, 0) + steps, 1173, 1));

  CHECK(ms(102, 1, 1023) <= 2 * ms(1, 1, 1023));
  CHECK(ms(103, 1, 1023) > 2 * ms(1, 1, 1023));
  CHECK(rounds_to(1e3 * 103 / ms(103, 1, 1023), 11380, 10));

  const auto attention_moves_more = [&](int64_t context) {
    const lesson_23::ForwardCost cost = lesson_23::forward(c, 1, 1, context - 1, 2);
    return cost.attended.bytes >= cost.projections.bytes + cost.feed_forward.bytes + cost.output.bytes;
  };
  CHECK_FALSE(attention_moves_more(107811));
  CHECK(attention_moves_more(107812));
  CHECK(rounds_to(ms(1, 1, 107811), 9.0, 0.1));

  CHECK(rounds_to(ms(520, 1, 1023), 30.1, 0.1));
  for (const auto& [faster, wider, prompt, one, many] :
       {std::tuple(2.0, 1.0, 10.3, 4.52, 27.6), std::tuple(1.0, 2.0, 16.0, 2.26, 19.0)}) {
    CHECK(rounds_to(ms(1, 1024, 0, faster, wider), prompt, 0.1));
    CHECK(rounds_to(ms(1, 1, 1023, faster, wider), one, 0.01));
    CHECK(rounds_to(ms(520, 1, 1023, faster, wider), many, 0.1));
  }

  for (const auto& [chunk, page] : {std::pair<int64_t, double>(512, 17.2), {256, 21.4}, {128, 39.2}}) {
    double all = 0;
    for (int64_t past = 0; past < 1024; past += chunk) all += ms(1, chunk, past);
    CHECK(rounds_to(all, page, 0.1));
  }
}

TEST_SUITE_END();
