#include "rungs/model/llama_gguf.hpp"

#include <fmt/format.h>

#include "rungs/checkpoint/pairs.hpp"

namespace rungs {

static constexpr int64_t far_above = 1 << 24;  // any model, and products of two stay in 64 bits

bool is_gguf(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

/// Tokens that end a text: the model's, of a turn, of a message.
static const char* const keys_of_ends[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                           "tokenizer.ggml.eom_token_id"};

static RopeConfig rope_of(const Gguf& file, int64_t head_dim) {
  const GgufMetadata& m = file.metadata;
  RopeConfig rope;
  if (m.has("llama.rope.freq_base")) rope.theta = m.number("llama.rope.freq_base", 0, 1e12);
  if (m.has("llama.rope.dimension_count") && m.whole("llama.rope.dimension_count", 1, far_above) != head_dim)
    m.fail("llama.rope.dimension_count", fmt::format("all {} elements of a head turned", head_dim), "another number");
  if (m.has("llama.rope.scaling.type") && m.text("llama.rope.scaling.type") != "none") {
    if (m.text("llama.rope.scaling.type") != "linear")
      m.fail("llama.rope.scaling.type", "none or linear", m.text("llama.rope.scaling.type"));
    rope.scaling = RopeConfig::Scaling::linear;
    rope.factor = m.number("llama.rope.scaling.factor", 0, 1e6);
  }
  // Where llama3 scaling was computed when the file was made, it is a divisor for each pair.
  if (file.tensors.has("rope_freqs.weight")) {
    const ConstTensor divisors = file.tensors.get("rope_freqs.weight", {head_dim / 2}, DType::f32);
    for (int64_t i = 0; i < divisors.count(); ++i) rope.divisors.push_back(double(divisors.flat(i)));
  }
  return rope;
}

Config config_of_gguf(const std::filesystem::path& path) {
  const Gguf file = open_gguf(path);
  const GgufMetadata& m = file.metadata;
  const std::string& architecture = m.text("general.architecture");
  if (architecture != "llama") m.fail("general.architecture", "llama", architecture);
  Config c;
  c.model_type = "llama";
  c.directory = path;
  c.max_seq_len = m.whole("llama.context_length", 1, far_above);
  c.hidden_size = m.whole("llama.embedding_length", 1, far_above);
  c.num_layers = m.whole("llama.block_count", 0, 4096);
  c.intermediate_size = m.whole("llama.feed_forward_length", 1, far_above);
  c.num_heads = m.whole("llama.attention.head_count", 1, far_above);
  c.num_kv_heads =
      m.has("llama.attention.head_count_kv") ? m.whole("llama.attention.head_count_kv", 1, c.num_heads) : c.num_heads;
  if (c.num_heads % c.num_kv_heads != 0)
    m.fail("llama.attention.head_count_kv", fmt::format("a divisor of head_count, {}", c.num_heads),
           fmt::to_string(c.num_kv_heads));
  if (m.has("llama.attention.key_length"))
    c.head_dim = m.whole("llama.attention.key_length", 1, far_above / c.num_heads);
  else if (c.hidden_size % c.num_heads == 0)
    c.head_dim = c.hidden_size / c.num_heads;
  if (c.head_dim == 0 || c.head_dim % 2 != 0)
    m.fail("llama.attention.head_count", fmt::format("heads of an even width in {} channels", c.hidden_size),
           fmt::format("{} heads", c.num_heads));
  c.epsilon = float(m.number("llama.attention.layer_norm_rms_epsilon", 0, 1));
  c.rotary = c.rms_norm = c.gated = true;
  c.rope = rope_of(file, c.head_dim);
  c.tied = !file.tensors.has("output.weight");
  c.vocab_size = file.tensors.get("token_embd.weight").rows();
  if (c.vocab_size < 1 || c.vocab_size > far_above)
    m.fail("token_embd.weight", fmt::format("1 to {} rows", far_above), fmt::to_string(c.vocab_size));
  const auto id = [&](const char* key) { return int32_t(m.whole(key, 0, c.vocab_size - 1)); };
  if (m.has("tokenizer.ggml.bos_token_id") && m.truth("tokenizer.ggml.add_bos_token", true))
    c.bos = id("tokenizer.ggml.bos_token_id");
  for (const char* key : keys_of_ends)
    if (m.has(key)) c.eos.push_back(id(key));
  return c;
}

std::vector<std::pair<std::string, GgufValue>> gguf_keys_of(const Config& c, DType dtype) {
  const auto fail = [&](const std::string& what) {
    throw UsageError(fmt::format("{}: GGUF has no name for {}", c.directory.string(), what));
  };
  const std::map<DType, int64_t> numbers = {{DType::f32, 0},   {DType::f16, 1},   {DType::q4_0, 2}, {DType::q8_0, 7},
                                            {DType::q4_k, 15}, {DType::q6_k, 18}, {DType::bf16, 32}};
  std::vector<std::pair<std::string, GgufValue>> keys = {
      {"general.architecture", std::string("llama")},
      {"general.file_type", numbers.at(dtype)},
      {"general.quantization_version", int64_t(2)},
      {"llama.vocab_size", c.vocab_size},
      {"llama.context_length", c.max_seq_len},
      {"llama.embedding_length", c.hidden_size},
      {"llama.block_count", c.num_layers},
      {"llama.feed_forward_length", c.intermediate_size},
      {"llama.attention.head_count", c.num_heads},
      {"llama.attention.head_count_kv", c.num_kv_heads},
      {"llama.attention.key_length", c.head_dim},
      {"llama.attention.value_length", c.head_dim},
      {"llama.attention.layer_norm_rms_epsilon", double(c.epsilon)},
      {"llama.rope.dimension_count", c.head_dim},
      {"llama.rope.freq_base", c.rope.theta},
  };
  if (c.rope.scaling == RopeConfig::Scaling::dynamic) fail("dynamic rope scaling");
  if (c.rope.scaling == RopeConfig::Scaling::linear) {
    keys.emplace_back("llama.rope.scaling.type", std::string("linear"));
    keys.emplace_back("llama.rope.scaling.factor", c.rope.factor);
  }
  if (c.bos >= 0) {
    keys.emplace_back("tokenizer.ggml.bos_token_id", int64_t(c.bos));
    keys.emplace_back("tokenizer.ggml.add_bos_token", true);
  }
  if (c.eos.size() > std::size(keys_of_ends)) fail(fmt::format("{} tokens that end a text", c.eos.size()));
  for (size_t i = 0; i < c.eos.size(); ++i) keys.emplace_back(keys_of_ends[i], int64_t(c.eos[i]));
  return keys;
}

/// Names of GGUF and of Hugging Face.
using Names = std::vector<std::pair<const char*, const char*>>;
static const Names names_of_model = {{"token_embd.weight", "model.embed_tokens.weight"},
                                     {"output_norm.weight", "model.norm.weight"},
                                     {"output.weight", "lm_head.weight"}};
static const Names names_of_layer = {
    {"attn_norm.weight", "input_layernorm.weight"},    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},      {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_output.weight", "self_attn.o_proj.weight"}, {"ffn_norm.weight", "post_attention_layernorm.weight"},
    {"ffn_gate.weight", "mlp.gate_proj.weight"},       {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_down.weight", "mlp.down_proj.weight"}};

std::string gguf_name_of(const std::string& name) {
  for (const auto& [gguf, ours] : names_of_model)
    if (name == ours) return gguf;
  constexpr std::string_view layers = "model.layers.";
  const size_t dot = name.find('.', layers.size());
  for (const auto& [gguf, ours] : names_of_layer)
    if (name.substr(dot + 1) == ours)
      return fmt::format("blk.{}.{}", name.substr(layers.size(), dot - layers.size()), gguf);
  throw UsageError(name + ": GGUF has no name for this tensor");
}

/// The other way.
static std::string name_of_gguf(const std::string& name, const std::string& file) {
  for (const auto& [gguf, ours] : names_of_model)
    if (name == gguf) return ours;
  const size_t dot = name.starts_with("blk.") ? name.find('.', 4) : name.npos;
  for (const auto& [gguf, ours] : names_of_layer)
    if (dot != name.npos && name.substr(dot + 1) == gguf)
      return fmt::format("model.layers.{}.{}", name.substr(4, dot - 4), ours);
  throw FileError(fmt::format("{}: {}: wanted the tensors of a LLaMA, found this one besides", file, name));
}

TensorSet open_llama_gguf(const std::filesystem::path& path, const Config& c) {
  Gguf file = open_gguf(path);
  TensorSet set(path);
  for (const std::string& gguf : file.tensors.names()) {
    if (gguf == "rope_freqs.weight") continue;
    const ConstTensor& tensor = file.tensors.get(gguf);
    const bool is_q = gguf.ends_with("attn_q.weight"), is_k = gguf.ends_with("attn_k.weight");
    const int64_t heads = is_q ? c.num_heads : c.num_kv_heads;
    const bool moved = (is_q || is_k) && tensor.shape().rank() == 2 && tensor.dim(0) == heads * c.head_dim;
    set.add(name_of_gguf(gguf, path.string()),
            moved ? ConstTensor(with_pairs_moved(tensor, heads, Pairs::halves)) : tensor.view(), path);
  }
  set.keep_files_of(std::move(file.tensors));
  return set;
}

}  // namespace rungs
