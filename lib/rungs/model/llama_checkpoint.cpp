// How a LLaMA's weights are found in its files.
#include <fmt/format.h>

#include <set>

#include "rungs/checkpoint/llama2c.hpp"
#include "rungs/checkpoint/shards.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/llama_gguf.hpp"
#include "rungs/model/llama_layout.hpp"

namespace rungs {

static Config limited(Config c, int64_t context) {
  if (context < 0 || context > c.max_seq_len)
    throw UsageError(fmt::format("{}: a context of {} tokens is wanted, the model knows {}", c.directory.string(),
                                 context, c.max_seq_len));
  if (context > 0)
    c.max_seq_len = context;
  else
    c.max_seq_len = c.usable_context();
  return c;
}

/// Old files store the angles' frequencies, and some tied models the output projection a second time. Neither is used:
/// transformers computes the one and ties the other.
static bool is_ignored(const std::string& name, const Config& c) {
  return name.ends_with("rotary_emb.inv_freq") || (c.tied && name == "lm_head.weight");
}

static void check_no_others(const TensorSet& file, const Config& c) {
  std::set<std::string> known;
  for (const TensorLayout& tensor : llama_tensors(c)) known.insert(tensor.name);
  for (const std::string& name : file.names())
    if (!known.count(name) && !is_ignored(name, c))
      throw FileError(fmt::format("{}: {}: wanted the tensors of a LLaMA of {} layers, found this one besides",
                                  file.file_of(name), name, c.num_layers));
}

static LlamaWeights llama_weights(const TensorSet& file, const Config& c) {
  if (!c.tied && !file.has("lm_head.weight") && file.has("model.embed_tokens.weight"))
    throw FileError(fmt::format("{}: lm_head.weight: wanted this tensor, as tie_word_embeddings is false, found none",
                                file.path()));
  std::map<std::string, ConstTensor> tensors;
  for (const auto& [name, shape] : llama_tensors(c)) tensors.emplace(name, file.get(name, shape));
  check_no_others(file, c);

  const auto take = [&](const std::string& name) { return std::move(tensors.at(name + ".weight")); };
  LlamaWeights w;
  w.token_embedding = take("model.embed_tokens");
  for (int64_t i = 0; i < c.num_layers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    w.layers.push_back({take(layer + "input_layernorm"),
                        {take(layer + "self_attn.q_proj"), take(layer + "self_attn.k_proj"),
                         take(layer + "self_attn.v_proj"), Tensor()},
                        take(layer + "self_attn.o_proj"),
                        take(layer + "post_attention_layernorm"),
                        {take(layer + "mlp.gate_proj"), take(layer + "mlp.up_proj"), Tensor()},
                        take(layer + "mlp.down_proj")});
  }
  w.final_norm = take("model.norm");
  w.output = c.tied ? w.token_embedding.view() : take("lm_head");
  w.rotary = rope_table(c.rope, c.head_dim, c.max_seq_len);
  w.epsilon = c.epsilon;
  w.num_heads = c.num_heads;
  w.num_kv_heads = c.num_kv_heads;
  return w;
}

TensorSet open_weights(const Config& config) {
  if (is_gguf(config.directory)) return open_llama_gguf(config.directory, config);
  return is_llama2c(config.directory) ? open_llama2c(config.directory) : open_shards(config.directory);
}

LlamaCheckpoint::LlamaCheckpoint(const std::filesystem::path& directory_or_bin, int64_t context)
    : config(limited(load_config(directory_or_bin), context)),
      file(open_weights(config)),
      weights(llama_weights(file, config)) {}

LlamaCheckpoint::LlamaCheckpoint(Config given, TensorSet tensors)
    : config(std::move(given)), file(std::move(tensors)), weights(llama_weights(file, config)) {}

}  // namespace rungs
