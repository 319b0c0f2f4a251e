/// How the next token is chosen: the sampler and the devices read the same.
#pragma once

#include <cstdint>

namespace rungs {

/// How the next token is chosen.
struct SampleOptions {
  double temperature = 0;  ///< logits are divided by it; 0: always the most probable token
  int64_t top_k = 0;       ///< only the k most probable tokens; 0: all of them
  double top_p = 1;        ///< then only the smallest set of the most probable whose sum reaches p; 1: all of them
};

}  // namespace rungs
