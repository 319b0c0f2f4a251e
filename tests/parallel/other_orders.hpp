/// By how much logits of one model may differ: what another order of its sums does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "parallel/ranks.hpp"
#include "rungs/checkpoint/safetensors.hpp"

namespace rungs::test {

inline bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

inline double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double largest = 0;
  for (size_t call = 0; call < a.size(); ++call)
    for (int64_t i = 0; i < a[call].count(); ++i) {
      const double difference = std::fabs(double(a[call].flat(i)) - b[call].flat(i));
      if (!(difference <= largest)) largest = difference;
    }
  return largest;
}

/// The same model with the units of each feed-forward in other orders: only the order of the sums over F differs.
inline void save_reordered(const std::filesystem::path& from, const std::filesystem::path& to, int64_t shift) {
  const LlamaCheckpoint was(from);
  std::filesystem::create_directories(to);
  std::filesystem::copy_file(from / "config.json", to / "config.json");
  const SafeTensors file(from / "model.safetensors");
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : file.names()) {
    const Tensor& x = file.get(name);
    Tensor y = x.copy();
    const int64_t F = was.config.intermediate_size, C = was.config.hidden_size;
    const auto from_unit = [&](int64_t f) { return (F - 1 - f + shift) % F; };
    if (name.find("gate_proj") != std::string::npos || name.find("up_proj") != std::string::npos)
      for (int64_t f = 0; f < F; ++f)
        for (int64_t c = 0; c < C; ++c) y(f, c) = x(from_unit(f), c);
    if (name.find("down_proj") != std::string::npos)
      for (int64_t c = 0; c < C; ++c)
        for (int64_t f = 0; f < F; ++f) y(c, f) = x(c, from_unit(f));
    tensors.emplace(name, std::move(y));
  }
  save_safetensors(to / "model.safetensors", tensors);
}

/// The largest difference between the logits of `one` rank for folder/model and those of three other orders, in the
/// same calls. What differs on several ranks is the order in which o and down sum.
template <class Kind = CpuOps>
double difference_of_other_orders(const Folder& folder, const std::vector<Batch>& calls, const OfRank& one) {
  double largest = 0;
  for (const int64_t shift : {0, 37, 53}) {
    const auto path = folder / std::to_string(shift);
    save_reordered(folder / "model", path, shift);
    largest = std::max(largest, largest_difference(alone<Kind>(path, calls, 2, 16).logits, one.logits));
    std::filesystem::remove_all(path);
  }
  return largest;
}

}  // namespace rungs::test
