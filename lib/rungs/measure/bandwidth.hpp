/// What memory gives right now: the yardstick of everything that is bound by reading.
#pragma once

#include <algorithm>
#include <cmath>

namespace rungs {

/// Bytes per second at which `threads` together read memory that is in no cache: the best of three passes over 256 MiB,
/// which stay allocated. Each thread reads four streams at a time, in vectors: one stream, or a word at a time, keeps
/// too few reads under way.
double bandwidth(int threads);

/// Two measurements of the same memory are close enough for what stands between them to count.
inline bool agree(double before, double after) { return std::abs(before - after) < 0.05 * std::max(before, after); }

}  // namespace rungs
