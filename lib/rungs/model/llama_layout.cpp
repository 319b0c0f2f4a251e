#include "rungs/model/llama_layout.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"

namespace rungs {

std::vector<TensorLayout> llama_tensors(const Config& c) {
  const int64_t q_width = c.num_heads * c.head_dim, kv_width = c.num_kv_heads * c.head_dim;
  std::vector<TensorLayout> tensors = {{"model.embed_tokens.weight", {c.vocab_size, c.hidden_size}}};
  for (int64_t i = 0; i < c.num_layers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    const TensorLayout parts[] = {{"input_layernorm", {c.hidden_size}},
                                  {"self_attn.q_proj", {q_width, c.hidden_size}},
                                  {"self_attn.k_proj", {kv_width, c.hidden_size}},
                                  {"self_attn.v_proj", {kv_width, c.hidden_size}},
                                  {"self_attn.o_proj", {c.hidden_size, q_width}},
                                  {"post_attention_layernorm", {c.hidden_size}},
                                  {"mlp.gate_proj", {c.intermediate_size, c.hidden_size}},
                                  {"mlp.up_proj", {c.intermediate_size, c.hidden_size}},
                                  {"mlp.down_proj", {c.hidden_size, c.intermediate_size}}};
    for (const auto& [name, shape] : parts) tensors.push_back({layer + name + ".weight", shape});
  }
  tensors.push_back({"model.norm.weight", {c.hidden_size}});
  if (!c.tied) tensors.push_back({"lm_head.weight", {c.vocab_size, c.hidden_size}});
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
  config["head_dim"] = c.head_dim;
  config["hidden_act"] = "silu";
  config["hidden_size"] = c.hidden_size;
  config["intermediate_size"] = c.intermediate_size;
  config["max_position_embeddings"] = c.max_seq_len;
  config["mlp_bias"] = false;
  config["num_attention_heads"] = c.num_heads;
  config["num_hidden_layers"] = c.num_layers;
  config["num_key_value_heads"] = c.num_kv_heads;
  config["rms_norm_eps"] = ordered_json::parse(fmt::format("{}", c.epsilon));  // 1e-05, not 9.99999974e-06
  config["rope_scaling"] = scaling_json(c.rope);
  config["rope_theta"] = c.rope.theta;
  config["tie_word_embeddings"] = c.tied;
  config["torch_dtype"] = dtype == DType::bf16 ? "bfloat16" : dtype == DType::f16 ? "float16" : "float32";
  config["vocab_size"] = c.vocab_size;
  write_whole(directory / "config.json", [&](std::ostream& out) { out << pretty(config) << '\n'; });
}

}  // namespace rungs
