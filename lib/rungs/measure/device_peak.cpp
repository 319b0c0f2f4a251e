// Compiled once for each kind of processor, as ops/dot.cpp is.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/measure/device_peak.cpp"
#include "rungs/measure/device_peak.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Twelve chains, since an addition waits for the one before it; each begins elsewhere, or the compiler would see that
/// they are one. Returns the floating-point operations that it did; `out` gets a number that depends on all of them, so
/// that none can be left out.
static double multiply_and_add(int64_t times, float* out) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, 0.999f), b = hn::Set(d, *out);
  const auto start = [&](float x) { return hn::Set(d, *out * x); };
  auto s_0 = start(1), s_1 = start(2), s_2 = start(3), s_3 = start(4), s_4 = start(5), s_5 = start(6);
  auto s_6 = start(7), s_7 = start(8), s_8 = start(9), s_9 = start(10), s_10 = start(11), s_11 = start(12);
  for (int64_t i = 0; i < times; ++i) {
    s_0 = hn::MulAdd(a, s_0, b), s_1 = hn::MulAdd(a, s_1, b), s_2 = hn::MulAdd(a, s_2, b);
    s_3 = hn::MulAdd(a, s_3, b), s_4 = hn::MulAdd(a, s_4, b), s_5 = hn::MulAdd(a, s_5, b);
    s_6 = hn::MulAdd(a, s_6, b), s_7 = hn::MulAdd(a, s_7, b), s_8 = hn::MulAdd(a, s_8, b);
    s_9 = hn::MulAdd(a, s_9, b), s_10 = hn::MulAdd(a, s_10, b), s_11 = hn::MulAdd(a, s_11, b);
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(s_0, s_1), hn::Add(s_2, s_3)), hn::Add(hn::Add(s_4, s_5), hn::Add(s_6, s_7)));
  *out = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, hn::Add(hn::Add(s_8, s_9), hn::Add(s_10, s_11)))));
  return 2.0 * 12 * double(times) * double(hn::Lanes(d));
}

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <ctime>

#include "rungs/measure/bandwidth.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

HWY_EXPORT(multiply_and_add);

double multiply_add_rate(int threads) {
  double best = 0;
  for (int pass = 0; pass < 3; ++pass) {
    double flops = 0;
    const double start = now();
#pragma omp parallel num_threads(threads) reduction(+ : flops)
    {
      float seed = 1;
      flops += HWY_DYNAMIC_DISPATCH(multiply_and_add)(8'000'000, &seed);
      if (seed == 0) flops = 0;  // never: each chain ends near 1000
    }
    best = std::max(best, flops / (now() - start));
  }
  return best;
}

std::string MeasuredPeak::noise() const {
  if (!noisy()) return "";
  return fmt::format(
      "This machine is noisy: the rounds of the measurement of its roof differ by {:.0f}%, and other programs took "
      "{:.0f}% of the processors' time. Close them, and measure again.\n",
      100 * spread, 100 * taken);
}

/// Of all threads of this process so far.
static double processor_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

MeasuredPeak measure_device_peak() {
  const int threads = omp_get_max_threads();
  constexpr int rounds = 8;
  std::vector<double> flops, bytes;
  bandwidth(threads);  // makes its memory, which is the work of one thread
  const double start = now(), used = processor_seconds();
  for (int round = 0; round < rounds; ++round) {
    flops.push_back(multiply_add_rate(threads));
    bytes.push_back(bandwidth(threads));
  }
  MeasuredPeak measured;
  measured.taken = std::max(0.0, 1 - (processor_seconds() - used) / (now() - start) / threads);
  for (std::vector<double>* list : {&flops, &bytes}) {
    std::sort(list->begin(), list->end());
    measured.spread = std::max(measured.spread, 1 - (*list)[rounds / 2] / list->back());
  }
  measured.roof = {machine(), flops.back(), bytes.back(), "f32, measured"};
  return measured;
}

}  // namespace rungs
#endif
