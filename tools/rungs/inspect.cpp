// rungs inspect: what is in a checkpoint, and how much memory it takes.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "rungs/base/checked.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/text.hpp"
#include "rungs/base/units.hpp"
#include "rungs/checkpoint/llama2c.hpp"
#include "rungs/checkpoint/safetensors.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/llama_gguf.hpp"
#include "rungs/model/memory_estimate.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

const char* scaling_name(RopeConfig::Scaling scaling) {
  constexpr const char* names[] = {"none", "linear", "llama3", "dynamic"};
  return names[size_t(scaling)];
}

ordered_json config_json(const Config& c) {
  ordered_json json = {{"model_type", c.model_type}};
  if (is_llama2c(c.directory)) {
    const Llama2cHeader h = read_llama2c_header(c.directory);
    json["file"] = fmt::format("llama2.c, version {}", h.version);
    if (h.group) json["stored"] = fmt::format("int8 in groups of {}; f32 in memory", h.group);
  }
  if (is_gguf(c.directory)) json["file"] = "GGUF";
  json["max_seq_len"] = c.max_seq_len;
  json["hidden_size"] = c.hidden_size;
  json["num_layers"] = c.num_layers;
  json["num_heads"] = c.num_heads;
  json["num_kv_heads"] = c.num_kv_heads;
  json["head_dim"] = c.head_dim;
  json["intermediate_size"] = c.intermediate_size;
  json["vocab_size"] = c.vocab_size;
  json["epsilon"] = ordered_json::parse(fmt::format("{}", c.epsilon));
  if (c.rotary) {
    json["rope_theta"] = c.rope.theta;
    json["rope_scaling"] = scaling_name(c.rope.scaling);
    if (c.rope.scaling != RopeConfig::Scaling::none) json["rope_factor"] = c.rope.factor;
    if (c.rope.original_context) json["original_context"] = c.rope.original_context;
  }
  json["tied"] = c.tied;
  json["bos"] = c.bos < 0 ? ordered_json() : ordered_json(c.bos);
  json["eos"] = c.eos;
  return json;
}

/// As people count: layers.2 before layers.10.
bool in_order(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_at = [&](const std::string& text, size_t& at) {
    const size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(first, at - first);
  };
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string m = number_at(a, i), n = number_at(b, j);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() < b.size();
}

ordered_json tensors_json(const TensorSet& set, int64_t& parameters, int64_t& bytes) {
  ordered_json list = ordered_json::array();
  std::vector<std::string> names = set.names();
  std::sort(names.begin(), names.end(), in_order);
  for (const std::string& name : names) {
    const Tensor& tensor = set.get(name);
    ordered_json shape = ordered_json::array();
    for (int d = 0; d < tensor.shape().rank(); ++d) shape.push_back(tensor.dim(d));
    list.push_back({{"name", name}, {"dtype", name_of(tensor.dtype())}, {"shape", shape}, {"bytes", tensor.bytes()}});
    parameters += tensor.count();
    bytes += int64_t(tensor.bytes());
  }
  return list;
}

int64_t bytes_on_disk(const TensorSet& set) {
  std::vector<std::string> files;
  int64_t bytes = 0;
  for (const std::string& name : set.names())
    if (const std::string file = set.file_of(name); std::find(files.begin(), files.end(), file) == files.end()) {
      files.push_back(file);
      bytes += int64_t(std::filesystem::file_size(file));
    }
  return bytes;
}

ordered_json memory_json(const Config& c, const InspectCommand& command, int64_t weights) {
  const int64_t context = command.context ? command.context : c.max_seq_len;
  if (context < 1 || context > c.max_seq_len)
    throw UsageError(
        fmt::format("context: wanted from 1 to {}, which the model knows, found {}", c.max_seq_len, context));
  if (command.batch < 1 || command.batch > 1 << 20)
    throw UsageError(fmt::format("batch: wanted from 1 to {}, found {}", 1 << 20, command.batch));
  const int64_t rows = std::max(command.batch, std::min<int64_t>(command.batch * context, 512));
  check_cache_dtype(c, command.cache_dtype);
  const MemoryEstimate f = memory_estimate(c, command.batch, context, rows, command.cache_dtype);
  return {{"sequences", command.batch},
          {"context", context},
          {"rows", rows},
          {"weights", weights},
          {"cache", f.cache},
          {"cache_dtype", name_of(command.cache_dtype)},
          {"rope_tables", f.rope_tables},
          {"scratch", f.scratch},
          {"total", sum({weights, f.cache, f.rope_tables, f.scratch})}};
}

void print_text(const ordered_json& all) {
  fmt::print("{}\n", printable(all["path"].get<std::string>()));
  if (all.contains("config")) {
    fmt::print("\nConfig\n");
    for (const auto& [key, value] : all["config"].items())
      fmt::print("  {:<18}{}\n", key,
                 value.is_string() ? printable(value.get<std::string>())
                 : value.is_null() ? "none"
                                   : value.dump());
  }
  size_t longest = 0;
  for (const auto& tensor : all["tensors"])
    longest = std::max(longest, tensor["name"].get_ref<const std::string&>().size());
  fmt::print("\nTensors\n");
  for (const auto& tensor : all["tensors"]) {
    std::string shape;
    for (const auto& dim : tensor["shape"]) shape += (shape.empty() ? "" : ", ") + dim.dump();
    fmt::print("  {:<{}}  {:<4}  {:<16}  {:>10}\n", printable(tensor["name"].get<std::string>()), longest,
               tensor["dtype"].get<std::string>(), "(" + shape + ")", in_units(tensor["bytes"].get<int64_t>()));
  }
  const auto parameters = all["parameters"].get<int64_t>();
  fmt::print("\n{} parameters in {} tensors, {} on disk\n", with_commas(parameters), all["tensors"].size(),
             in_units(all["file_bytes"].get<int64_t>()));
  if (!all.contains("memory")) return;
  const ordered_json& m = all["memory"];
  const auto sequences = m["sequences"].get<int64_t>();
  fmt::print("\nMemory for {} sequence{} of {} tokens\n", sequences, sequences == 1 ? "" : "s",
             m["context"].get<int64_t>());
  const auto line = [&](const char* name, const char* key, const std::string& note) {
    fmt::print("  {:<10}{:>10}{}{}\n", name, in_units(m[key].get<int64_t>()), note.empty() ? "" : "   ", note);
  };
  line("weights", "weights", "");
  line("KV cache", "cache",
       fmt::format("{}, for every position of every sequence", m["cache_dtype"].get_ref<const std::string&>()));
  if (m["rope_tables"] != 0) line("RoPE", "rope_tables", "tables of cos and sin, of every position");
  line("scratch", "scratch", fmt::format("f32, {} rows a call, and the logits", m["rows"].get<int64_t>()));
  line("together", "total", "");
}

}  // namespace

int inspect_checkpoint(const InspectCommand& command) {
  const std::filesystem::path path = command.path;
  const bool bare = path.extension() == ".safetensors";
  ordered_json all = {{"path", command.path}};
  Config config;
  if (!bare) all["config"] = config_json(config = load_config(path));
  const TensorSet set = bare ? SafeTensors(path) : open_weights(config);
  int64_t parameters = 0, bytes = 0;
  all["tensors"] = tensors_json(set, parameters, bytes);
  all["parameters"] = parameters;
  all["file_bytes"] = bytes_on_disk(set);
  if (!bare) all["memory"] = memory_json(config, command, bytes);
  if (command.json)
    fmt::print("{}\n", pretty(all));
  else
    print_text(all);
  return 0;
}

}  // namespace rungs
