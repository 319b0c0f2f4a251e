#include "rungs/model/presets.hpp"

#include <algorithm>
#include <cctype>

namespace rungs {

namespace {

struct Published {
  const char* name;
  int64_t num_layers, num_heads, num_kv_heads, hidden_size, intermediate_size, vocab_size, max_seq_len;
  bool tied;
  RopeConfig rope;
};

constexpr RopeConfig llama_3{.theta = 500000};
constexpr RopeConfig llama_3_2{500000, RopeConfig::Scaling::llama3, 32, 1, 4, 8192};

constexpr Published shapes[] = {
    {"Llama-2-7B", 32, 32, 32, 4096, 11008, 32000, 4096, false, {}},
    {"Llama-2-13B", 40, 40, 40, 5120, 13824, 32000, 4096, false, {}},
    {"Llama-2-70B", 80, 64, 8, 8192, 28672, 32000, 4096, false, {}},
    {"Llama-3-8B", 32, 32, 8, 4096, 14336, 128256, 8192, false, llama_3},
    {"Llama-3-70B", 80, 64, 8, 8192, 28672, 128256, 8192, false, llama_3},
    {"Llama-3.2-1B", 16, 32, 8, 2048, 8192, 128256, 131072, true, llama_3_2},
    {"Llama-3.2-3B", 28, 24, 8, 3072, 8192, 128256, 131072, true, llama_3_2},
    {"TinyLlama", 22, 32, 4, 2048, 5632, 32000, 2048, false, {}},
    {"stories15M", 6, 6, 6, 288, 768, 32000, 256, true, {}},
    {"stories110M", 12, 12, 12, 768, 2048, 32000, 1024, true, {}},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return out;
}

}  // namespace

std::optional<Config> preset(std::string_view name) {
  std::string wanted = lower(name);
  if (wanted == "8b") wanted = "llama-3-8b";
  if (wanted == "1b") wanted = "llama-3.2-1b";
  const auto* s =
      std::find_if(std::begin(shapes), std::end(shapes), [&](const Published& p) { return lower(p.name) == wanted; });
  if (s == std::end(shapes)) return std::nullopt;
  Config c;
  c.model_type = "llama";
  c.directory = s->name;  // for messages
  c.rotary = c.rms_norm = c.gated = true;
  c.epsilon = 1e-5f, c.bos = 1, c.eos = {2};
  c.num_layers = s->num_layers, c.num_heads = s->num_heads, c.num_kv_heads = s->num_kv_heads,
  c.hidden_size = s->hidden_size;
  c.intermediate_size = s->intermediate_size, c.vocab_size = s->vocab_size, c.max_seq_len = s->max_seq_len;
  c.head_dim = c.hidden_size / c.num_heads;
  c.tied = s->tied, c.rope = s->rope;
  return c;
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const Published& shape : shapes) names.emplace_back(shape.name);
  return names;
}

}  // namespace rungs
