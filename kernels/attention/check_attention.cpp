#include <fmt/format.h>

#include "kernels/attention/attention.hpp"
#include "rungs/base/error.hpp"

namespace rungs {

void check_attention(int T, int S, int H, int G, int D, bool in_pairs) {
  if (D < 1 || D > 256) throw ShapeError(fmt::format("attention: head width {}, want 1 to 256", D));
  if (G < 1 || H < 1 || H % G) throw ShapeError(fmt::format("attention: {} heads on {} key/value heads", H, G));
  if (T < 1 || S < T) throw ShapeError(fmt::format("attention: {} queries at the end of {} keys", T, S));
  if (in_pairs && D % 2) throw ShapeError(fmt::format("attention: RoPE turns pairs, and a head width of {} is odd", D));
}

}  // namespace rungs
