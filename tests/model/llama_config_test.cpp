// config.json and generation_config.json as published LLaMAs have them, old and new.
#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"
#include "rungs/model/config.hpp"
#include "rungs/model/generation_config.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("model");

namespace {

/// What a file of the first LLaMA had.
json oldest() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", "silu"},
          {"hidden_size", 24},
          {"intermediate_size", 20},
          {"max_position_embeddings", 32},
          {"num_attention_heads", 4},
          {"num_hidden_layers", 2},
          {"rms_norm_eps", 1e-6},
          {"vocab_size", 29},
          {"bos_token_id", 1},
          {"eos_token_id", 2},
          {"torch_dtype", "float16"}};
}

struct Files {
  Folder folder;

  Config load(const json& config) const {
    write_file(folder / "config.json", config.dump());
    return load_config(folder.path());
  }
  Config load(const json& config, const json& changes) const {
    json changed = config;
    changed.merge_patch(changes);
    return load(changed);
  }
  void refused(const json& changes, const std::string& sentence) const {
    CAPTURE(sentence);
    CHECK_THROWS_WITH_AS(load(oldest(), changes), Contains(("config.json: " + sentence).c_str()), FileError);
  }
  GenerationConfig generation(const json& config) const {
    write_file(folder / "generation_config.json", config.dump());
    return load_generation_config(folder.path(), 29);
  }
};

using Scaling = RopeConfig::Scaling;

}  // namespace

TEST_CASE("a config of the first LLaMA is read, and what it does not say is as it was then") {
  const Files files;
  const Config c = files.load(oldest());
  CHECK(c.model_type == "llama");
  CHECK(c.num_heads == 4);
  CHECK(c.num_kv_heads == 4);
  CHECK(c.head_dim == 6);
  CHECK(c.epsilon == 1e-6f);
  CHECK(c.rope.theta == 10000);
  CHECK(c.rope.scaling == Scaling::none);
  CHECK_FALSE(c.tied);
  CHECK(c.bos == 1);
  CHECK(c.eos == std::vector<int32_t>{2});
}

TEST_CASE("heads, their width and tied embeddings are read where a config has them, and null is as absent") {
  const Files files;
  const Config c = files.load(
      oldest(), {{"num_key_value_heads", 2}, {"head_dim", 10}, {"tie_word_embeddings", true}, {"rope_theta", 5e5}});
  CHECK(c.num_kv_heads == 2);
  CHECK(c.head_dim == 10);
  CHECK(c.tied);
  CHECK(c.rope.theta == 5e5);
  json nulls = oldest();
  for (const char* name : {"head_dim", "num_key_value_heads", "rope_scaling", "tie_word_embeddings", "eos_token_id"})
    nulls[name] = nullptr;
  const Config absent = files.load(nulls);
  CHECK(absent.num_kv_heads == 4);
  CHECK(absent.head_dim == 6);
  CHECK(absent.eos.empty());
}

TEST_CASE("rope scaling is read from its old place and from the new one") {
  const Files files;
  const json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 16}};
  json parameters = llama3;
  parameters["rope_theta"] = 7e4;
  const Config old = files.load(oldest(), {{"rope_scaling", llama3}, {"rope_theta", 7e4}}),
               now = files.load(oldest(), {{"rope_parameters", parameters}, {"dtype", "bfloat16"}});
  for (const Config* c : {&old, &now}) {
    CHECK(c->rope.scaling == Scaling::llama3);
    CHECK(c->rope.theta == 7e4);
    CHECK(c->rope.factor == 8);
    CHECK(c->rope.low_frequency == 1);
    CHECK(c->rope.high_frequency == 4);
    CHECK(c->rope.original_context == 16);
  }
  const Config linear = files.load(oldest(), {{"rope_scaling", {{"type", "linear"}, {"factor", 2.5}}}});
  CHECK(linear.rope.scaling == Scaling::linear);
  CHECK(linear.rope.factor == 2.5);
  const Config dynamic = files.load(oldest(), {{"rope_scaling", {{"type", "dynamic"}, {"factor", 4}}}});
  CHECK(dynamic.rope.scaling == Scaling::dynamic);
  CHECK(dynamic.rope.original_context == 32);
  CHECK(files.load(oldest(), {{"rope_scaling", {{"rope_type", "default"}}}}).rope.scaling == Scaling::none);
  CHECK(files.load(oldest(), {{"rope_parameters", {{"rope_theta", 9.0}}}}).rope.theta == 9);
}

TEST_CASE("a text may end with any of several tokens, and generation_config.json has the last word") {
  const Files files;
  CHECK(files.load(oldest(), {{"eos_token_id", {2, 4, 7}}}).eos == std::vector<int32_t>{2, 4, 7});
  files.generation({{"eos_token_id", {5, 6}}});
  CHECK(files.load(oldest()).eos == std::vector<int32_t>{5, 6});
  files.generation({{"bos_token_id", 1}});
  CHECK(files.load(oldest()).eos == std::vector<int32_t>{2});
}

TEST_CASE("a .bin has the sizes of its header, and llama2.c's constants for the rest") {
  const auto path = weights_directory() / "references/checkpoints/bin_1/model.bin";
  CHECK(is_llama2c(path));
  const Config c = load_config(path);
  CHECK(c.model_type == "llama");
  CHECK(c.hidden_size == 24);
  CHECK(c.num_heads == 6);
  CHECK(c.num_kv_heads == 2);
  CHECK(c.head_dim == 4);
  CHECK(c.max_seq_len == 18);
  CHECK(c.epsilon == 1e-5f);
  CHECK(c.rope.theta == 10000);
  CHECK_FALSE(c.tied);
  CHECK(c.bos == 1);
  CHECK(c.eos == std::vector<int32_t>{1, 2});
  CHECK_FALSE(is_llama2c(path.parent_path()));
  CHECK_FALSE(is_llama2c(path.parent_path().parent_path() / "single_f16/model.safetensors"));
}

TEST_CASE("generation_config.json is read, and may be absent") {
  const Files files;
  const GenerationConfig none = load_generation_config(files.folder.path(), 29);
  CHECK(none.eos.empty());
  CHECK_FALSE(none.temperature.has_value());
  CHECK_FALSE(none.sample);
  const GenerationConfig all =
      files.generation({{"eos_token_id", 3}, {"temperature", 0.6}, {"top_p", 0.9}, {"top_k", 50}, {"do_sample", true}});
  CHECK(all.eos == std::vector<int32_t>{3});
  CHECK(all.temperature == 0.6);
  CHECK(all.top_p == 0.9);
  CHECK(all.top_k == 50);
  CHECK(all.sample);
  const auto refused = [&](const json& config, const char* sentence) {
    CHECK_THROWS_WITH_AS(files.generation(config), Contains(sentence), FileError);
  };
  refused(json::array(), "generation_config.json: wanted an object, found array");
  refused({{"eos_token_id", 29}}, "generation_config.json: eos_token_id: wanted a whole number from 0 to 28, found 29");
  refused({{"eos_token_id", {1, "2"}}}, "eos_token_id: wanted whole numbers from 0 to 28, found [1,\"2\"]");
  refused({{"temperature", -0.5}}, "temperature: wanted at least 0, found -0.5");
  refused({{"temperature", "warm"}}, "temperature: wanted a number");
  refused({{"top_p", 1.5}}, "top_p: wanted at most 1, found 1.5");
  refused({{"top_p", 0}}, "top_p: wanted a number between 0 and 2, found 0");
  refused({{"top_k", -1}}, "top_k: wanted a whole number from 0");
  refused({{"do_sample", 1}}, "do_sample: wanted true or false, found 1");
}

TEST_CASE("what this engine does not have is refused, and the sentence says what it has") {
  const Files files;
  files.refused({{"model_type", "mistral"}}, "model_type: wanted \"llama\" or \"rungs_decoder\", found \"mistral\"");
  files.refused({{"architectures", {"MistralForCausalLM"}}},
                "architectures: wanted [\"LlamaForCausalLM\"], found [\"MistralForCausalLM\"]");
  files.refused({{"hidden_act", "gelu"}}, "hidden_act: wanted \"silu\", found \"gelu\"");
  files.refused({{"attention_bias", true}}, "attention_bias: wanted false, projections without a bias, found true");
  files.refused({{"mlp_bias", true}}, "mlp_bias: wanted false");
  files.refused({{"quantization_config", {{"bits", 4}}}},
                "quantization_config: wanted weights in f32, bf16 or f16, found {\"bits\":4}");
  files.refused({{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}}}},
                "rope_scaling.rope_type: wanted \"default\", \"linear\", \"llama3\" or \"dynamic\", found \"yarn\"");
  files.refused({{"rope_parameters", {{"type", "longrope"}}}}, "rope_parameters.type: wanted \"default\"");
  files.refused({{"rope_scaling", {{"factor", 4}}}}, "rope_scaling.type: wanted a value, found none");
  files.refused({{"rope_scaling", 4}}, "rope_scaling: wanted an object, found number");
  files.refused({{"rope_scaling", {{"type", "linear"}}}}, "rope_scaling.factor: wanted a value, found none");
  files.refused({{"rope_scaling", {{"type", "linear"}, {"factor", 0}}}}, "rope_scaling.factor: wanted a number");
  const json llama3 = {{"type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4}, {"high_freq_factor", 4}};
  files.refused({{"rope_scaling", llama3}},
                "rope_scaling.high_freq_factor: wanted more than low_freq_factor, 4, found 4");
  files.refused(
      {{"rope_scaling", {{"type", "llama3"}, {"factor", 2}, {"low_freq_factor", 1}, {"high_freq_factor", 4}}}},
      "rope_scaling.original_max_position_embeddings: wanted a value, found none");
  files.refused({{"partial_rotary_factor", 0.5}}, "partial_rotary_factor: wanted 1, all pairs turned, found 0.5");
}

TEST_CASE("heads that do not divide are refused by name") {
  const Files files;
  files.refused({{"num_key_value_heads", 3}},
                "num_key_value_heads: wanted a divisor of num_attention_heads, 4, found 3");
  files.refused({{"num_key_value_heads", 8}}, "num_key_value_heads: wanted a whole number from 1 to 4, found 8");
  files.refused({{"num_attention_heads", 5}}, "num_attention_heads: wanted a divisor of hidden_size, 24, found 5");
  files.refused({{"num_attention_heads", 8}}, "num_attention_heads: wanted heads of an even width");
  files.refused({{"head_dim", 7}}, "head_dim: wanted heads of an even width, which rotary positions need, not of 7");
  files.refused({{"head_dim", 16777216}}, "head_dim: wanted a whole number from 1 to 4194304");
}

TEST_CASE("fields of another type or out of range are refused by name, and no changed byte does more than throw") {
  const Files files;
  for (const char* name : {"hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads",
                           "vocab_size", "rms_norm_eps", "tie_word_embeddings", "rope_theta", "rope_scaling",
                           "rope_parameters", "head_dim", "num_key_value_heads", "attention_bias", "architectures"})
    for (const json& value : {json("12"), json(-1), json::array({1}), json(1e300)})
      files.refused({{name, value}}, name);
  for (const char* name : {"hidden_size", "num_attention_heads", "vocab_size", "rms_norm_eps", "model_type"})
    files.refused({{name, nullptr}}, std::string(name) + ": wanted a value, found none");
  json full = oldest();
  full["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2}};
  const std::string good = full.dump();
  std::mt19937 bits(3);
  for (int round = 0; round < 2000; ++round) {
    std::string changed = good;
    for (uint32_t n = 0; n <= bits() % 4; ++n)
      changed[bits() % good.size()] = round % 2 ? char(bits()) : "0-9.e\"{}[]:,"[bits() % 12];
    write_file(files.folder / "config.json", changed);
    try {
      load_config(files.folder.path());
    } catch (const FileError&) {
    }
  }
}

TEST_SUITE_END();
