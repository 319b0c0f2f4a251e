/// Measuring how long things take.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rungs {

/// Seconds on a clock that only goes forward.
double now();

/// The middle one of some numbers, at least one; of an even count the mean of the two in the middle.
double median(std::vector<double> list);

/// How long something took.
struct Timing {
  double seconds = 0;  ///< the median of the runs
  int runs = 0;
};

/// Runs `work` until `seconds` have passed, at least 3 and at most 50 times; what takes longer than that runs once.
Timing measure(const std::function<void()>& work, double seconds = 1.0);

/// "AMD EPYC, 2 cores, AVX2" with the vectors that the library uses, for reports.
std::string machine();

}  // namespace rungs
