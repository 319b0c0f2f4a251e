/// Warp operations. Each lane leaves the address of its operands and waits; the last to arrive computes for all, so
/// that a wrong mask, another operation or a lane that has returned is seen and not guessed around.
#pragma once

#include <type_traits>

#include "kernels/emulator/language/block.hpp"

namespace rungs::emulator {

/// Computes one warp operation: `operands[i]` is what lane i left, for each lane i in `lanes`.
using WarpFunction = void (*)(void* const* operands, unsigned lanes);

/// Waits for all lanes named in `mask`; then `function` has run once, for those of them that exist.
void warp_operation(const char* name, WarpFunction function, unsigned mask, void* operands, Site site);

/// Calls body(lane) for each bit of `lanes`.
template <class Body>
RUNGS_UNSEEN __forceinline__ void for_lanes(unsigned lanes, Body body) {
  for (; lanes; lanes &= lanes - 1) body(__builtin_ctz(lanes));
}

template <class T, class R>
struct LaneOperands {
  T value;
  R result;
};

template <class T, class R, void (*compute)(T* values, R* results, unsigned lanes)>
RUNGS_UNSEEN void exchange_lanes(void* const* operands, unsigned lanes) {
  T values[32];
  R results[32];
  for_lanes(lanes,
            [&](int lane) RUNGS_UNSEEN { values[lane] = static_cast<LaneOperands<T, R>*>(operands[lane])->value; });
  compute(values, results, lanes);
  for_lanes(lanes,
            [&](int lane) RUNGS_UNSEEN { static_cast<LaneOperands<T, R>*>(operands[lane])->result = results[lane]; });
}

/// One value of each lane in, one result for each lane out.
template <class T, class R, void (*compute)(T* values, R* results, unsigned lanes)>
RUNGS_UNSEEN __forceinline__ R exchange(const char* name, unsigned mask, const T& value, Site site) {
  LaneOperands<T, R> operands;
  operands.value = value;
  warp_operation(name, exchange_lanes<T, R, compute>, mask, &operands, site);
  return operands.result;
}

template <class T>
struct ShuffleValue {
  T value;
  int parameter;  ///< source lane, distance or lane mask
  int width;      ///< lanes of a group; shuffles stay inside
};

enum class Shuffle { index, up, down, exclusive_or };

template <Shuffle kind>
__forceinline__ int source_lane(int lane, int parameter, int width) {
  const int first = lane & ~(width - 1), beyond = first + width;  // the lane's group
  int source = lane;
  if constexpr (kind == Shuffle::index) source = first + (parameter & (width - 1));
  if constexpr (kind == Shuffle::up) source = lane - parameter;
  if constexpr (kind == Shuffle::down) source = lane + parameter;
  if constexpr (kind == Shuffle::exclusive_or) return (lane ^ parameter) < beyond ? lane ^ parameter : lane;
  return source < first || source >= beyond ? lane : source;
}

template <Shuffle kind, class T>
RUNGS_UNSEEN void shuffle_values(ShuffleValue<T>* values, T* results, unsigned lanes) {
  for_lanes(lanes, [&](int lane) RUNGS_UNSEEN {
    const int source = source_lane<kind>(lane, values[lane].parameter, values[lane].width);
    if (lanes >> source & 1) {
      results[lane] = values[source].value;
    } else {
      __builtin_memset(&results[lane], 0xff, sizeof(T));  // undefined on a GPU: a NaN shows it
    }
  });
}

template <Shuffle kind, class T>
RUNGS_UNSEEN __forceinline__ T shuffle(const char* name, unsigned mask, T value, int parameter, int width, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a shuffle moves values of 1 to 8 bytes");
  return exchange<ShuffleValue<T>, T, shuffle_values<kind, T>>(name, mask, {value, parameter, width}, site);
}

RUNGS_UNSEEN inline void ballot_values(int* values, unsigned* results, unsigned lanes) {
  unsigned ballot = 0;
  for_lanes(lanes, [&](int lane) RUNGS_UNSEEN { ballot |= unsigned(values[lane] != 0) << lane; });
  for_lanes(lanes, [&](int lane) RUNGS_UNSEEN { results[lane] = ballot; });
}

/// Which lanes hold the same value as each lane.
template <class T>
RUNGS_UNSEEN void match_values(T* values, unsigned* results, unsigned lanes) {
  for_lanes(lanes, [&](int lane) RUNGS_UNSEEN {
    results[lane] = 0;
    for_lanes(lanes,
              [&](int other) RUNGS_UNSEEN { results[lane] |= unsigned(values[other] == values[lane]) << other; });
  });
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return T(unsigned(a) + unsigned(b));  // wraps, as on a GPU
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct And {
  unsigned operator()(unsigned a, unsigned b) const { return a & b; }
};
struct Or {
  unsigned operator()(unsigned a, unsigned b) const { return a | b; }
};
struct Xor {
  unsigned operator()(unsigned a, unsigned b) const { return a ^ b; }
};

template <class Combine, class T>
RUNGS_UNSEEN void reduce_values(T* values, T* results, unsigned lanes) {
  const int first = __builtin_ctz(lanes);
  T sum = values[first];
  for_lanes(lanes & (lanes - 1), [&](int lane) RUNGS_UNSEEN { sum = Combine{}(sum, values[lane]); });
  for_lanes(lanes, [&](int lane) RUNGS_UNSEEN { results[lane] = sum; });
}

template <class Combine, class T>
RUNGS_UNSEEN __forceinline__ T reduce(const char* name, unsigned mask, T value, Site site) {
  return exchange<T, T, reduce_values<Combine, T>>(name, mask, value, site);
}

}  // namespace rungs::emulator

template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int source, int width = 32,
                              rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::shuffle<rungs::emulator::Shuffle::index>("__shfl_sync", mask, value, source, width, site);
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                                 rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::shuffle<rungs::emulator::Shuffle::up>("__shfl_up_sync", mask, value, int(distance), width,
                                                                site);
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                                   rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::shuffle<rungs::emulator::Shuffle::down>("__shfl_down_sync", mask, value, int(distance), width,
                                                                  site);
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                                  rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::shuffle<rungs::emulator::Shuffle::exclusive_or>("__shfl_xor_sync", mask, value, lane_mask,
                                                                          width, site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, rungs::emulator::Site site = rungs::emulator::Site::here()) {
  rungs::emulator::warp_operation("__syncwarp", nullptr, mask, nullptr, site);
}
inline unsigned __ballot_sync(unsigned mask, int yes, rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::exchange<int, unsigned, rungs::emulator::ballot_values>("__ballot_sync", mask, yes, site);
}
inline int __any_sync(unsigned mask, int yes, rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::exchange<int, unsigned, rungs::emulator::ballot_values>("__any_sync", mask, yes, site) != 0;
}
inline int __all_sync(unsigned mask, int yes, rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::exchange<int, unsigned, rungs::emulator::ballot_values>("__all_sync", mask, yes == 0, site) ==
         0;
}
template <class T>
__forceinline__ unsigned __match_any_sync(unsigned mask, T value,
                                          rungs::emulator::Site site = rungs::emulator::Site::here()) {
  return rungs::emulator::exchange<T, unsigned, rungs::emulator::match_values<T>>("__match_any_sync", mask, value,
                                                                                  site);
}

// On a GPU these exist for 32-bit integers only, and here as well.
#define RUNGS_REDUCE(function, Combine, T)                                                                \
  inline T function(unsigned mask, T value, rungs::emulator::Site site = rungs::emulator::Site::here()) { \
    return rungs::emulator::reduce<rungs::emulator::Combine>(#function, mask, value, site);               \
  }
RUNGS_REDUCE(__reduce_add_sync, Add, int)
RUNGS_REDUCE(__reduce_add_sync, Add, unsigned)
RUNGS_REDUCE(__reduce_min_sync, Min, int)
RUNGS_REDUCE(__reduce_min_sync, Min, unsigned)
RUNGS_REDUCE(__reduce_max_sync, Max, int)
RUNGS_REDUCE(__reduce_max_sync, Max, unsigned)
RUNGS_REDUCE(__reduce_and_sync, And, unsigned)
RUNGS_REDUCE(__reduce_or_sync, Or, unsigned)
RUNGS_REDUCE(__reduce_xor_sync, Xor, unsigned)
#undef RUNGS_REDUCE

/// Which lanes run together is the hardware's business: pass a mask that the kernel knows.
unsigned __activemask()
    __attribute__((error("__activemask() depends on the hardware's schedule: pass an explicit mask")));
