#include "rungs/model/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/fields.hpp"
#include "rungs/checkpoint/llama2c.hpp"
#include "rungs/model/generation_config.hpp"
#include "rungs/model/llama_gguf.hpp"

namespace rungs {

using nlohmann::json;

static constexpr int64_t most = 1 << 24;  // far above any model, and products of two stay in 64 bits

/// The same fields stand in rope_scaling of older files and in rope_parameters of newer ones.
static void read_scaling(RopeConfig& rope, const Fields& fields, int64_t context) {
  const char* key = fields.has("rope_type") ? "rope_type" : "type";
  const std::string type = fields.one_of(key, {"default", "linear", "llama3", "dynamic"});
  if (type == "default") return;
  rope.factor = fields.number("factor", 0, 1e6);
  const auto original = [&] { return fields.whole("original_max_position_embeddings", 1, most); };
  if (type == "linear") {
    rope.scaling = RopeConfig::Scaling::linear;
  } else if (type == "dynamic") {
    rope.scaling = RopeConfig::Scaling::dynamic;
    rope.original_context = fields.has("original_max_position_embeddings") ? original() : context;
  } else {
    rope.scaling = RopeConfig::Scaling::llama3;
    rope.low_frequency = fields.number("low_freq_factor", 0, 1e6);
    rope.high_frequency = fields.number("high_freq_factor", 0, 1e6);
    if (rope.high_frequency <= rope.low_frequency)
      fields.fail("high_freq_factor", fmt::format("more than low_freq_factor, {}", rope.low_frequency));
    rope.original_context = original();
  }
}

static RopeConfig read_rope(const Fields& fields, int64_t context) {
  RopeConfig rope;
  const auto read_theta = [&](const Fields& from) {
    if (from.has("rope_theta")) rope.theta = from.number("rope_theta", 0, 1e12);
    if (from.has("partial_rotary_factor") && from.at("partial_rotary_factor") != 1)
      from.fail("partial_rotary_factor", "1, all pairs turned");
  };
  read_theta(fields);
  if (fields.has("rope_parameters")) {
    const Fields parameters = fields.inner("rope_parameters");
    read_theta(parameters);
    if (parameters.has("rope_type") || parameters.has("type")) read_scaling(rope, parameters, context);
  } else if (fields.has("rope_scaling")) {
    read_scaling(rope, fields.inner("rope_scaling"), context);
  }
  return rope;
}

/// What a LLaMA of another kind would have, and this engine has not.
static void check_llama(const Fields& fields) {
  if (fields.has("architectures")) {
    const json& list = fields.at("architectures");
    if (list != json{"LlamaForCausalLM"} && list != json{"LLaMAForCausalLM"})
      fields.fail("architectures", "[\"LlamaForCausalLM\"]");
  }
  if (fields.has("hidden_act")) fields.one_of("hidden_act", {"silu"});
  for (const char* bias : {"attention_bias", "mlp_bias"})
    if (fields.truth(bias, false)) fields.fail(bias, "false, projections without a bias");
  if (fields.has("quantization_config")) fields.fail("quantization_config", "weights in f32, bf16 or f16");
}

static void read_llama(Config& c, const Fields& fields) {
  check_llama(fields);
  c.epsilon = float(fields.number("rms_norm_eps", 0, 1));
  c.rotary = c.rms_norm = c.gated = true;
  c.tied = fields.truth("tie_word_embeddings", false);
}

static void read_decoder(Config& c, const Fields& fields) {
  c.epsilon = float(fields.number("layer_norm_eps", 0, 1));
  c.rotary = fields.has("rope_theta");
  c.rms_norm = fields.has("norm") && fields.one_of("norm", {"layer", "rms"}) == "rms";
  c.gated = fields.truth("gated", false);
}

/// llama2.c's files leave the rest to the program: run.c's constants, and the ids of Llama 2's tokenizer. Its training
/// puts BOS between texts, so that it ends one, too.
static Config config_of_bin(const std::filesystem::path& path) {
  const Llama2cHeader h = read_llama2c_header(path);
  Config c;
  c.model_type = "llama";
  c.max_seq_len = h.max_seq_len;
  c.hidden_size = h.hidden_size;
  c.num_heads = h.num_heads;
  c.num_kv_heads = h.num_kv_heads;
  c.head_dim = h.head_dim();
  c.intermediate_size = h.intermediate_size;
  c.num_layers = h.num_layers;
  c.vocab_size = h.vocab_size;
  c.epsilon = 1e-5f;
  c.rotary = c.rms_norm = c.gated = true;
  c.tied = h.tied;
  if (h.vocab_size > 2) c.bos = 1, c.eos = {1, 2};
  c.directory = path;
  return c;
}

bool is_llama2c(const std::filesystem::path& path) {
  return std::filesystem::is_regular_file(path) && path.extension() != ".safetensors" && !is_gguf(path);
}

int64_t Config::usable_context() const {
  const bool limited = rotary && rope.scaling == RopeConfig::Scaling::dynamic;
  return limited ? std::min(max_seq_len, rope.original_context) : max_seq_len;
}

Config load_config(const std::filesystem::path& directory_or_bin) {
  if (is_llama2c(directory_or_bin)) return config_of_bin(directory_or_bin);
  if (is_gguf(directory_or_bin)) return config_of_gguf(directory_or_bin);
  const std::filesystem::path& directory = directory_or_bin;
  const std::filesystem::path path = directory / "config.json";
  const json object = read_json_object(path);
  const Fields fields(object, path.string());

  Config c;
  c.directory = directory;
  c.model_type = fields.one_of("model_type", {"llama", "rungs_decoder"});
  const bool llama = c.is_llama();
  c.max_seq_len = fields.whole("max_position_embeddings", 1, most);
  c.hidden_size = fields.whole("hidden_size", 1, most);
  c.intermediate_size = fields.whole("intermediate_size", 1, most);
  c.num_layers = fields.whole("num_hidden_layers", 0, 4096);
  c.vocab_size = fields.whole("vocab_size", 1, most);
  if (llama || fields.has("num_attention_heads")) c.num_heads = fields.whole("num_attention_heads", 1, most);
  c.num_kv_heads =
      fields.has("num_key_value_heads") ? fields.whole("num_key_value_heads", 1, c.num_heads) : c.num_heads;
  if (c.num_heads % c.num_kv_heads != 0)
    fields.fail("num_key_value_heads", fmt::format("a divisor of num_attention_heads, {}", c.num_heads));
  if (llama && !fields.has("head_dim")) {
    if (c.hidden_size % c.num_heads != 0)
      fields.fail("num_attention_heads", fmt::format("a divisor of hidden_size, {}", c.hidden_size));
    c.head_dim = c.hidden_size / c.num_heads;
  } else {
    c.head_dim = fields.whole("head_dim", 1, most / c.num_heads);
  }
  llama ? read_llama(c, fields) : read_decoder(c, fields);
  if (c.rotary) {
    c.rope = read_rope(fields, c.max_seq_len);
    if (c.head_dim % 2 != 0)
      fields.fail(fields.has("head_dim") ? "head_dim" : "num_attention_heads",
                  fmt::format("heads of an even width, which rotary positions need, not of {}", c.head_dim));
  }
  if (fields.has("bos_token_id")) c.bos = int32_t(fields.whole("bos_token_id", 0, c.vocab_size - 1));
  c.eos = fields.whole_list("eos_token_id", 0, c.vocab_size - 1);
  if (const auto eos = load_generation_config(directory, c.vocab_size).eos; !eos.empty()) c.eos = eos;
  return c;
}

}  // namespace rungs
