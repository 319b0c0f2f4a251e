#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"
#include "rungs/checkpoint/safetensors.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("model");

namespace {

/// A copy of a small LLaMA whose tensors and config a test may change before it is opened.
struct CheckpointCopy {
  Folder folder;
  std::map<std::string, Tensor> tensors;
  nlohmann::json config;

  explicit CheckpointCopy(const std::string& name = "llama_mha") {
    const auto model = weights_directory() / "references/models" / name;
    config = nlohmann::json::parse(read_text(model / "config.json"));
    const SafeTensors file(model / "model.safetensors");
    for (const std::string& each : file.names()) tensors.emplace(each, file.get(each).copy());
  }
  LlamaCheckpoint open(int64_t context = 0) const {
    save_safetensors(folder / "model.safetensors", tensors);
    write_file(folder / "config.json", config.dump());
    return LlamaCheckpoint(folder.path(), context);
  }
  void refused(const std::string& sentence) const {
    CAPTURE(sentence);
    CHECK_THROWS_WITH_AS(open(), Contains(("model.safetensors: " + sentence).c_str()), FileError);
  }
};

}  // namespace

TEST_CASE("weights are views of the mapped file in the dtype that they have there") {
  for (const auto& [name, dtype] : {std::pair{"llama_bf16", DType::bf16}, {"llama_linear", DType::f16}}) {
    const LlamaCheckpoint checkpoint(weights_directory() / "references/models" / name);
    const LlamaWeights& w = checkpoint.weights;
    const Tensor& q = checkpoint.file.get("model.layers.0.self_attn.q_proj.weight");
    CHECK(w.layers[0].qkv.q.raw() == q.raw());
    CHECK(w.layers[0].qkv.q.dtype() == dtype);
    CHECK(w.final_norm.dtype() == dtype);
  }
}

TEST_CASE("a tensor that is missing, or of another shape or dtype, is refused by name and file") {
  for (const auto& [name, tensor] : CheckpointCopy().tensors) {
    CAPTURE(name);
    CheckpointCopy missing, longer, whole;
    missing.tensors.erase(name);
    if (name != "lm_head.weight") missing.refused(name + ": wanted this tensor, found none");
    longer.tensors[name] =
        Tensor(tensor.shape().rank() == 1 ? Shape{tensor.dim(0) + 1} : Shape{tensor.dim(0) + 1, tensor.dim(1)});
    longer.refused(name + ": wanted " + to_string(tensor.shape()) + ", found ");
    whole.tensors[name] = Tensor(tensor.shape(), DType::i32);
    whole.refused(name + ": wanted f32, bf16 or f16, found i32");
  }
  CheckpointCopy turned;
  turned.tensors["model.layers.1.mlp.up_proj.weight"] = Tensor({12, 20});
  turned.refused("model.layers.1.mlp.up_proj.weight: wanted (20, 12), found (12, 20); stored transposed?");
}

TEST_CASE("a tensor that no LLaMA of this config has is refused by name") {
  CheckpointCopy bias, layer;
  bias.tensors.emplace("model.layers.0.self_attn.q_proj.bias", Tensor({12}));
  bias.refused(
      "model.layers.0.self_attn.q_proj.bias: wanted the tensors of a LLaMA of 2 layers, found this one besides");
  layer.config["num_hidden_layers"] = 1;
  layer.refused("model.layers.1.input_layernorm.weight: wanted the tensors of a LLaMA of 1 layers, found this");
}

TEST_CASE("frequencies that old files store are passed over") {
  CheckpointCopy old;
  for (int i = 0; i < 2; ++i)
    old.tensors.emplace(fmt::format("model.layers.{}.self_attn.rotary_emb.inv_freq", i), Tensor(Shape{2}));
  CHECK_NOTHROW(old.open());
}

TEST_CASE("tied weights win over an output projection that the file has besides, as in transformers") {
  CheckpointCopy tied("llama_gqa");
  tied.tensors.emplace("lm_head.weight", Tensor({37, 16}));
  const LlamaCheckpoint checkpoint = tied.open();
  CHECK(checkpoint.weights.output.raw() == checkpoint.weights.token_embedding.raw());
  CheckpointCopy untied;
  const LlamaCheckpoint apart = untied.open();
  CHECK(apart.weights.output.raw() == apart.file.get("lm_head.weight").raw());
  untied.tensors.erase("lm_head.weight");
  untied.refused("lm_head.weight: wanted this tensor, as tie_word_embeddings is false, found none");
}

TEST_CASE("the context is what was asked for, up to what the model knows") {
  const CheckpointCopy copy;
  CHECK(copy.open().config.max_seq_len == 24);
  const LlamaCheckpoint shorter = copy.open(10);
  CHECK(shorter.config.max_seq_len == 10);
  CHECK(shorter.weights.rotary.cos.shape() == Shape{10, 2});
  CHECK_THROWS_WITH_AS(copy.open(25), Contains("a context of 25 tokens is wanted, the model knows 24"), UsageError);
  CHECK_THROWS_AS(copy.open(-1), UsageError);
}

TEST_CASE("dynamic scaling is used within the original length and refused beyond it") {
  CheckpointCopy copy;
  copy.config["rope_scaling"] = {{"type", "dynamic"}, {"factor", 4.0}, {"original_max_position_embeddings", 12}};
  CHECK(copy.open().config.max_seq_len == 12);
  CHECK(copy.open(12).config.max_seq_len == 12);
  CHECK_THROWS_WITH_AS(copy.open(13), Contains("dynamic rope scaling works up to the original context of 12, not up"),
                       UsageError);
}

TEST_CASE("no changed byte of a checkpoint does more than throw, and no half of one opens") {
  const CheckpointCopy copy("llama_newest_llama3");
  copy.open();
  const std::string good = read_text(copy.folder / "model.safetensors");
  const size_t header = 2200;
  std::mt19937 bits(5);
  for (int round = 0; round < 300; ++round) {
    std::string changed = good;
    if (round % 3 == 0)
      changed.resize(bits() % good.size());
    else
      for (uint32_t n = 0; n <= bits() % 3; ++n) changed[bits() % header] = char(bits() % 128);
    write_file(copy.folder / "model.safetensors", changed);
    try {
      const LlamaCheckpoint opened(copy.folder.path());
      CHECK(values(opened.weights.final_norm).size() == 12);
    } catch (const FileError&) {
    }
  }
}

TEST_SUITE_END();
