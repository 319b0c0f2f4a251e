/// The roof of this machine, measured.
#pragma once

#include <string>

#include "rungs/analysis/roofline.hpp"

namespace rungs {

/// Floating-point operations a second at which `threads` together multiply and add f32 in registers, with the widest
/// vectors that the processor has.
double multiply_add_rate(int threads);

/// A measured roof, and how far it can be trusted.
struct MeasuredPeak {
  DevicePeak roof;
  double spread = 0;  ///< of the better half of the rounds, of either number, relative to the best
  double taken = 0;   ///< share of the threads' time that other programs got
  bool noisy() const { return spread > 0.1 || taken > 0.1; }
  std::string noise() const;  ///< a sentence about it, with its end of line; "" where it is quiet
};

/// Measures bandwidth() and multiply_add_rate() turn by turn for a few seconds, on as many threads as the library uses;
/// the best of each is the roof.
MeasuredPeak measure_device_peak();

}  // namespace rungs
