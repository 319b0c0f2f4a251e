#include "generate/random_decoder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "rungs/checkpoint/safetensors.hpp"

namespace rungs::test {

void save_random_decoder(const std::filesystem::path& directory, const Config& c, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<std::string, Tensor> tensors;
  // In double a product of two floats is exact, so that no compiler's choice between one rounding and two shows.
  const auto add = [&](const std::string& name, const Shape& shape, float middle, float spread) {
    Tensor tensor = Tensor::uninitialised(shape);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const auto x = double(float(double(random() >> 11) * 0x1p-52 - 1));
      tensor.flat(i) = float(double(middle) + double(spread) * x);
    }
    tensors.emplace(name, std::move(tensor));
  };
  const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
    add(name + ".weight", {out, in}, 0, std::sqrt(3.0f / float(in)));  // a variance of 1 / in
    add(name + ".bias", {out}, 0, 0.1f);
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".weight", {c.hidden_size}, 1, 0.1f);
    add(name + ".bias", {c.hidden_size}, 0, 0.1f);
  };
  add("token_embedding.weight", {c.vocab_size, c.hidden_size}, 0, 1);
  add("position_embedding.weight", {c.max_seq_len, c.hidden_size}, 0, 0.3f);
  for (int64_t i = 0; i < c.num_layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i);
    norm(layer + "attention_norm");
    for (const char* name : {"q", "k", "v"}) linear(layer + "attention." + name, c.head_dim, c.hidden_size);
    linear(layer + "attention.o", c.hidden_size, c.head_dim);
    norm(layer + "ffn_norm");
    linear(layer + "feed_forward.up", c.intermediate_size, c.hidden_size);
    linear(layer + "feed_forward.down", c.hidden_size, c.intermediate_size);
  }
  norm("final_norm");
  linear("output", c.vocab_size, c.hidden_size);
  save_safetensors(directory / "model.safetensors", tensors);

  nlohmann::ordered_json config = {{"model_type", "rungs_decoder"},
                                   {"max_position_embeddings", c.max_seq_len},
                                   {"hidden_size", c.hidden_size},
                                   {"head_dim", c.head_dim},
                                   {"intermediate_size", c.intermediate_size},
                                   {"num_hidden_layers", c.num_layers},
                                   {"vocab_size", c.vocab_size},
                                   {"layer_norm_eps", c.epsilon}};
  if (c.bos >= 0) config["bos_token_id"] = c.bos;
  if (!c.eos.empty()) config["eos_token_id"] = c.eos[0];
  config["torch_dtype"] = "float32";
  write_whole(directory / "config.json", [&](std::ostream& out) { out << config.dump(2) << '\n'; });
}

}  // namespace rungs::test
