#include "rungs/tensor/tap.hpp"

namespace rungs {

static thread_local std::function<void(const std::string&, const Tensor&)> watcher;
static thread_local int64_t current_layer = -1;
static thread_local int paused = 0;

bool taps_are_watched() { return watcher && !paused; }

void tap(const char* name, const Tensor& tensor) {
  if (!taps_are_watched()) return;
  watcher(current_layer < 0 ? name : "layers." + std::to_string(current_layer) + "." + name, tensor);
}

void watch_taps(std::function<void(const std::string&, const Tensor&)> w) { watcher = std::move(w); }

TapLayer::TapLayer(int64_t layer) { current_layer = layer; }
TapLayer::~TapLayer() { current_layer = -1; }

TapPause::TapPause() { ++paused; }
TapPause::~TapPause() { --paused; }

}  // namespace rungs
