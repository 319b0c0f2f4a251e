/// A tap shows an intermediate tensor to whoever watches: the grader, `--taps`, a debugger.
#pragma once

#include <functional>
#include <string>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Shows `tensor` under the name of the current scope plus `name`. Costs one test when nobody watches.
void tap(const char* name, const Tensor& tensor);

/// From now on `watcher` sees every tap of this thread; an empty one ends that.
void watch_taps(std::function<void(const std::string& name, const Tensor&)> watcher);

/// Somebody watches: then nothing that is tapped may be left out.
bool taps_are_watched();

/// While it lives, taps are named "layers.I.NAME".
class TapLayer {
 public:
  explicit TapLayer(int64_t layer);
  ~TapLayer();
  TapLayer(const TapLayer&) = delete;
  TapLayer& operator=(const TapLayer&) = delete;
};

/// While it lives, nobody watches.
class TapPause {
 public:
  TapPause();
  ~TapPause();
  TapPause(const TapPause&) = delete;
  TapPause& operator=(const TapPause&) = delete;
};

}  // namespace rungs
