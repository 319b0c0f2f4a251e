#include "rungs/analysis/roofline.hpp"

#include <algorithm>

namespace rungs {

namespace {

const DevicePeak roofs[] = {
    {"A100", 312e12, 2039e9, "NVIDIA A100 data sheet, 80 GB SXM; bf16, dense"},
    {"H100", 989e12, 3350e9, "NVIDIA H100 data sheet, 80 GB SXM; bf16, dense"},
    {"H200", 989e12, 4800e9, "NVIDIA H200 data sheet, SXM; bf16, dense"},
    {"RTX 4090", 165.2e12, 1008e9, "NVIDIA Ada GPU architecture paper; bf16 with sums in f32, dense"},
};

/// "RTX 4090" and "rtx4090" are the same name.
std::string letters_of(std::string_view name) {
  std::string out;
  for (const unsigned char c : name)
    if (std::isalnum(c)) out += char(std::tolower(c));
  return out;
}

}  // namespace

double DevicePeak::attainable(double intensity) const { return std::min(flops, bandwidth * intensity); }

double DevicePeak::seconds(const Cost& cost) const { return std::max(cost.flops / flops, cost.bytes / bandwidth); }

std::optional<DevicePeak> named_device_peak(std::string_view name) {
  for (const DevicePeak& roof : roofs)
    if (letters_of(roof.name) == letters_of(name)) return roof;
  return std::nullopt;
}

std::vector<std::string> roof_names() {
  std::vector<std::string> names;
  for (const DevicePeak& roof : roofs) names.push_back(roof.name);
  return names;
}

std::vector<Operation> operations(const Config& c, const Call& call, const ElementBytes& bytes) {
  const auto L = double(c.num_layers), C = double(c.hidden_size), D = double(c.head_dim),
             F = double(c.intermediate_size);
  const double q_width = double(c.num_heads) * D, kv_width = double(c.num_kv_heads) * D;
  const auto B = double(call.batch), T = double(call.rows), past = double(call.past);
  const auto product = [&](double times, double rows, double in, double out, double results) {
    const double moved = in * out * bytes.weight + rows * (in + results) * bytes.activation;
    return Cost{times * 2 * rows * in * out, times * moved};
  };
  const double scores = B * (T * past + T * (T + 1) / 2) * double(c.num_heads);    // query t sees past + t + 1 keys
  const double attention_bytes = B * (2 * T * q_width * bytes.activation           // queries in, results out
                                      + 2 * T * kv_width * bytes.cache             // keys and values kept
                                      + 2 * (past + T) * kv_width * bytes.cache);  // and read
  return {{"q, k, v", product(L, B * T, C, q_width + 2 * kv_width, q_width + 2 * kv_width)},
          {"attention", {L * scores * (4 * D + 5), L * attention_bytes}},
          {"output projection", product(L, B * T, q_width, C, C)},
          {c.gated ? "gate and up" : "up", product(L, B * T, C, (c.gated ? 2 : 1) * F, F)},  // gate · up stays
          {"down", product(L, B * T, F, C, C)},
          {"logits", product(1, B, C, double(c.vocab_size), double(c.vocab_size))}};
}

Cost total(const std::vector<Operation>& operations) {
  Cost all;
  for (const Operation& operation : operations) all = all + operation.cost;
  return all;
}

}  // namespace rungs
