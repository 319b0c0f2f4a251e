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

Config load_config(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "config.json";
  const std::string file = path.string();
  const json config = parse_json(read_text(path), file);
  if (!config.is_object()) throw FileError(fmt::format("{}: wanted an object, found {}", file, config.type_name()));

  constexpr int64_t most = 1 << 24;  // far above any model, and products of two stay in 64 bits
  Config c;
  c.directory = directory;
  const json& type = field(config, "model_type", file);
  if (type != "rungs_decoder")
    throw FileError(fmt::format("{}: model_type: wanted \"rungs_decoder\", found {}", file, brief(type)));
  c.model_type = type.get<std::string>();
  c.context = whole(config, "max_position_embeddings", file, 1, most);
  c.width = whole(config, "hidden_size", file, 1, most);
  c.head_width = whole(config, "head_dim", file, 1, most);
  c.inner_width = whole(config, "intermediate_size", file, 1, most);
  c.layers = whole(config, "num_hidden_layers", file, 0, 4096);
  c.vocabulary = whole(config, "vocab_size", file, 1, most);
  const json& epsilon = field(config, "layer_norm_eps", file);
  if (!epsilon.is_number() || !(epsilon.get<double>() > 0) || !(epsilon.get<double>() < 1))
    throw FileError(fmt::format("{}: layer_norm_eps: wanted a number between 0 and 1, found {}", file, brief(epsilon)));
  c.epsilon = epsilon.get<float>();
  if (config.contains("bos_token_id")) c.bos = int32_t(whole(config, "bos_token_id", file, 0, c.vocabulary - 1));
  if (config.contains("eos_token_id")) c.eos = int32_t(whole(config, "eos_token_id", file, 0, c.vocabulary - 1));
  return c;
}

}  // namespace rungs
