#include "rungs/model/llama_layout.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"

namespace rungs {

std::vector<TensorLayout> llama_tensors(const Config& c) {
  const int64_t q_width = c.heads * c.head_width, kv_width = c.kv_heads * c.head_width;
  std::vector<TensorLayout> tensors = {{"model.embed_tokens.weight", {c.vocabulary, c.width}}};
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    const TensorLayout parts[] = {{"input_layernorm", {c.width}},
                                  {"self_attn.q_proj", {q_width, c.width}},
                                  {"self_attn.k_proj", {kv_width, c.width}},
                                  {"self_attn.v_proj", {kv_width, c.width}},
                                  {"self_attn.o_proj", {c.width, q_width}},
                                  {"post_attention_layernorm", {c.width}},
                                  {"mlp.gate_proj", {c.inner_width, c.width}},
                                  {"mlp.up_proj", {c.inner_width, c.width}},
                                  {"mlp.down_proj", {c.width, c.inner_width}}};
    for (const auto& [name, shape] : parts) tensors.push_back({layer + name + ".weight", shape});
  }
  tensors.push_back({"model.norm.weight", {c.width}});
  if (!c.tied) tensors.push_back({"lm_head.weight", {c.vocabulary, c.width}});
  return tensors;
}

using nlohmann::ordered_json;

static ordered_json scaling_json(const RopeConfig& rope) {
  switch (rope.scaling) {
    case RopeConfig::Scaling::none:
      break;
    case RopeConfig::Scaling::linear:
      return {{"rope_type", "linear"}, {"factor", rope.factor}};
    case RopeConfig::Scaling::dynamic:
      return {{"rope_type", "dynamic"},
              {"factor", rope.factor},
              {"original_max_position_embeddings", rope.original_context}};
    case RopeConfig::Scaling::llama3:
      return {{"rope_type", "llama3"},
              {"factor", rope.factor},
              {"low_freq_factor", rope.low_frequency},
              {"high_freq_factor", rope.high_frequency},
              {"original_max_position_embeddings", rope.original_context}};
  }
  return nullptr;
}

void save_llama_config(const std::filesystem::path& directory, const Config& c, DType dtype) {
  ordered_json config = {{"architectures", {"LlamaForCausalLM"}}, {"model_type", "llama"}, {"attention_bias", false}};
  if (c.bos >= 0) config["bos_token_id"] = c.bos;
  if (c.eos.size() == 1)
    config["eos_token_id"] = c.eos[0];
  else if (!c.eos.empty())
    config["eos_token_id"] = c.eos;
  config["head_dim"] = c.head_width;
  config["hidden_act"] = "silu";
  config["hidden_size"] = c.width;
  config["intermediate_size"] = c.inner_width;
  config["max_position_embeddings"] = c.context;
  config["mlp_bias"] = false;
  config["num_attention_heads"] = c.heads;
  config["num_hidden_layers"] = c.layers;
  config["num_key_value_heads"] = c.kv_heads;
  config["rms_norm_eps"] = ordered_json::parse(fmt::format("{}", c.epsilon));  // 1e-05, not 9.99999974e-06
  config["rope_scaling"] = scaling_json(c.rope);
  config["rope_theta"] = c.rope.theta;
  config["tie_word_embeddings"] = c.tied;
  config["torch_dtype"] = dtype == DType::bf16 ? "bfloat16" : dtype == DType::f16 ? "float16" : "float32";
  config["vocab_size"] = c.vocabulary;
  write_whole(directory / "config.json", [&](std::ostream& out) { out << config.dump(2) << '\n'; });
}

}  // namespace rungs
