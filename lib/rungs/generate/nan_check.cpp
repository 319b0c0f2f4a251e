#include "rungs/generate/nan_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "rungs/tensor/tap.hpp"

namespace rungs {

static bool finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

static std::string first_broken_tap(Model& model, Tensor& logits, const Batch& batch, KvCache* cache) {
  std::string first;
  std::vector<float> host;
  watch_taps([&](const std::string& name, const Tensor& tensor) {
    if (!first.empty() || tensor.dtype() != DType::f32) return;
    host.resize(size_t(tensor.count()));
    model.backend().device.download(host.data(), tensor);
    if (!finite(host)) first = name;
  });
  model.forward(logits, batch, cache);
  watch_taps({});
  return first;
}

void fail_not_finite(Model& model, Tensor& logits, const Batch& batch, KvCache* cache) {
  const std::string first = first_broken_tap(model, logits, batch, cache);
  throw Error(fmt::format("{} is the first tensor that is not finite: the weights in {} are broken",
                          first.empty() ? "logits" : first, model.config().directory.string()));
}

bool download_finite(Device& device, std::span<float> host, const Tensor& logits) {
  device.download(host.data(), logits);
  return finite(host);
}

void forward_finite(Model& model, std::span<float> host, Tensor& logits, const Batch& batch, KvCache* cache) {
  model.forward(logits, batch, cache);
  if (!download_finite(model.backend().device, host, logits)) fail_not_finite(model, logits, batch, cache);
}

}  // namespace rungs
