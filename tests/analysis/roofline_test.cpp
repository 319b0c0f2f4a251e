#include "rungs/analysis/roofline.hpp"

#include <fmt/format.h>

#include "rungs/measure/device_peak.hpp"
#include "rungs/model/presets.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("systems");

TEST_CASE("the course's intensity of attention, 1024 tokens and a head of 128") {
  CHECK(fmt::format("{:.3f}", prefill_attention(1024, 128, 2, Formula::course).intensity()) == "71.310");
  CHECK(fmt::format("{:.3f}", decode_attention(1024, 128, 1, 2, Caches::own, Formula::course).intensity()) == "0.998");
}

TEST_CASE("the derived counts are the sums of the steps") {
  const double N = 1024, d = 128;
  const Cost prefill = prefill_attention(1024, 128, 2), decode = decode_attention(1024, 128, 1, 2, Caches::own);
  CHECK(prefill.flops == 4 * N * N * d + 5 * N * N);
  CHECK(prefill.bytes == 2 * (4 * N * d + 4 * N * N));
  CHECK(decode.flops == 4 * N * d + 5 * N);
  CHECK(decode.bytes == 2 * ((2 * N + 2) * d + 4 * N));
}

TEST_CASE("with a cache each the intensity of decoding does not grow with the batch, with one for all it does") {
  const double alone = decode_attention(1024, 128, 1, 2, Caches::own).intensity();
  for (const int64_t batch : {2, 16, 256}) {
    CHECK(decode_attention(1024, 128, batch, 2, Caches::own).intensity() == alone);
    CHECK(decode_attention(1024, 128, batch, 2, Caches::shared).intensity() > alone);
  }
  const double B = 16, N = 1024, d = 128;
  const double course = B * (4 * N * d + 5 * N) / (2 * ((2 * N + 1) * d + 3 * N * B));
  CHECK(decode_attention(1024, 128, 16, 2, Caches::shared, Formula::course).intensity() == doctest::Approx(course));
}

TEST_CASE("a roof is the lower of two limits, which meet at the ridge") {
  const DevicePeak roof{"", 100e9, 20e9, ""};
  CHECK(roof.ridge() == 5);
  CHECK(roof.attainable(1) == 20e9);
  CHECK(roof.attainable(5) == 100e9);
  CHECK(roof.attainable(50) == 100e9);
  CHECK(roof.seconds({200e9, 1e9}) == 2);  // computes longer than it reads
  CHECK(roof.seconds({1e9, 60e9}) == 3);
  CHECK(named_device_peak("rtx4090")->name == "RTX 4090");
  CHECK(!named_device_peak("H300"));
}

TEST_CASE("a decode step reads every weight once and does two FLOP for each and a prompt does so for each token") {
  const Config c = *preset("Llama-3-8B");
  const Parameters p = count_parameters(c);
  const double weights = double(p.attention + p.feed_forward + p.output);
  const std::vector<Operation> decode = operations(c, {1, 1, 1024}, {});
  double flops = 0, bytes = 0;
  for (const Operation& operation : decode)
    if (operation.name != "attention") flops += operation.cost.flops, bytes += operation.cost.bytes;
  CHECK(flops == 2 * weights);
  CHECK(bytes == doctest::Approx(2 * weights).epsilon(0.001));  // and inputs and outputs, which are vectors
  CHECK(decode[1].name == "attention");
  CHECK(decode[1].cost.flops == 32.0 * 32 * 1025 * (4 * 128 + 5));
  CHECK(decode[1].cost.bytes == 32.0 * 2 * (2 * 4096 + 2 * 1024 + 2 * 1025 * 1024));

  // 8 tokens of a prompt see 1 to 8 keys.
  CHECK(operations(c, {1, 8, 0}, {})[1].cost.flops == 32.0 * 32 * 36 * (4 * 128 + 5));
  CHECK(operations(c, {3, 8, 0}, {})[0].cost.flops == 24 * decode[0].cost.flops);
}

TEST_CASE("this machine's roof can be measured") {
  const MeasuredPeak measured = measure_device_peak();
  CHECK(measured.roof.flops > 1e8);
  CHECK(measured.roof.bandwidth > 1e8);
  CHECK(measured.roof.flops < 1e14);
  CHECK(measured.roof.bandwidth < 1e13);
  CHECK(measured.spread >= 0);
  CHECK(measured.spread < 1);
}
