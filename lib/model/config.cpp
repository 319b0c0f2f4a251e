#include "model/config.hpp"

#include <fmt/format.h>

#include "checkpoint/json.hpp"
#include "tensor/error.hpp"
#include "tensor/file.hpp"

namespace rungs {

using nlohmann::json;

static const json& field(const json& config, const char* name, const std::string& file) {
  const auto it = config.find(name);
  if (it == config.end()) throw FileError(fmt::format("{}: {}: wanted a value, found none", file, name));
  return *it;
}

static int64_t whole(const json& config, const char* name, const std::string& file, int64_t least, int64_t most) {
  const json& value = field(config, name, file);
  if (!value.is_number_integer() || value < least || value > most)
    throw FileError(
        fmt::format("{}: {}: wanted a whole number from {} to {}, found {}", file, name, least, most, brief(value)));
  return value.get<int64_t>();
}

static bool has(const json& config, const char* name) { return config.contains(name) && !config[name].is_null(); }

/// A number between two others, neither of them included.
static double number(const json& config, const char* name, const std::string& file, double above, double below) {
  const json& value = field(config, name, file);
  if (!value.is_number() || !(value.get<double>() > above) || !(value.get<double>() < below))
    throw FileError(
        fmt::format("{}: {}: wanted a number between {} and {}, found {}", file, name, above, below, brief(value)));
  return value.get<double>();
}

Config load_config(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "config.json";
  const std::string file = path.string();
  const json config = parse_json(read_text(path), file);
  if (!config.is_object()) throw FileError(fmt::format("{}: wanted an object, found {}", file, config.type_name()));

  constexpr int64_t most = 1 << 24;  // far above any model, and products of two stay in 64 bits
  Config c;
  c.directory = directory;
  const json& type = field(config, "model_type", file);
  if (type != "rungs_decoder" && type != "llama")
    throw FileError(fmt::format("{}: model_type: wanted \"llama\" or \"rungs_decoder\", found {}", file, brief(type)));
  c.model_type = type.get<std::string>();
  const bool llama = c.model_type == "llama";
  c.context = whole(config, "max_position_embeddings", file, 1, most);
  c.width = whole(config, "hidden_size", file, 1, most);
  c.inner_width = whole(config, "intermediate_size", file, 1, most);
  c.layers = whole(config, "num_hidden_layers", file, 0, 4096);
  c.vocabulary = whole(config, "vocab_size", file, 1, most);
  if (llama || has(config, "num_attention_heads")) c.heads = whole(config, "num_attention_heads", file, 1, most);
  c.kv_heads = has(config, "num_key_value_heads") ? whole(config, "num_key_value_heads", file, 1, c.heads) : c.heads;
  if (c.heads % c.kv_heads != 0)
    throw FileError(fmt::format("{}: num_key_value_heads: wanted a divisor of num_attention_heads, {}, found {}", file,
                                c.heads, c.kv_heads));
  c.head_width = llama && !has(config, "head_dim") ? c.width / c.heads : whole(config, "head_dim", file, 1, most);
  c.epsilon = float(number(config, llama ? "rms_norm_eps" : "layer_norm_eps", file, 0, 1));
  c.rotary = llama || has(config, "rope_theta");
  c.rms_norm = llama || config.value("norm", "") == "rms";
  c.gated = llama || config.value("gated", false);
  c.tied = config.value("tie_word_embeddings", false);
  if (has(config, "rope_theta")) c.rope.theta = number(config, "rope_theta", file, 0, 1e12);
  if (has(config, "bos_token_id")) c.bos = int32_t(whole(config, "bos_token_id", file, 0, c.vocabulary - 1));
  if (has(config, "eos_token_id")) c.eos = {int32_t(whole(config, "eos_token_id", file, 0, c.vocabulary - 1))};
  return c;
}

}  // namespace rungs
