/// Rotary positions: the angle of every pair of a head at every position.
#pragma once

#include <cstdint>
#include <vector>

#include "rungs/ops/ops.hpp"

namespace rungs {

/// How fast the pairs turn.
struct RopeConfig {
  enum class Scaling {
    none,    ///< "default": θ_i = theta^(-2i/D)
    linear,  ///< positions are divided by factor. Chen and others 2023, "Extending Context Window ... Interpolation"
    llama3,  ///< slow pairs are slowed by factor, fast ones kept, those between blended, as Llama 3.1 does
    dynamic  ///< the base grows with the length beyond original_context, which a cache of rotated keys cannot follow
  };
  double theta = 10000;
  Scaling scaling = Scaling::none;
  double factor = 1;
  double low_frequency = 1, high_frequency = 4;  ///< llama3: turns within original_context between which it blends
  int64_t original_context = 0;                  ///< llama3, dynamic: the context that the model was first trained for
  std::vector<double> divisors = {};             ///< of θ_i, for each pair; none: 1
};

/// θ_i of each pair i < D/2, in radians a position, after scaling. \throws UsageError for an odd head width
std::vector<double> rope_frequencies(const RopeConfig& config, int64_t head_dim);

/// cos and sin of p · θ_i for each position p of the context and each i < D/2, computed in double, stored as f32.
/// \throws UsageError for an odd head width; for dynamic scaling beyond the original context.
RopeTables rope_table(const RopeConfig& config, int64_t head_dim, int64_t context);

}  // namespace rungs
