// What convert_llama writes as GGUF. weights/check_gguf.py has the gguf package read the same files.
#include <cmath>

#include "contains.hpp"
#include "rungs/base/file.hpp"
#include "rungs/checkpoint/gguf.hpp"
#include "rungs/checkpoint/pairs.hpp"
#include "rungs/model/convert.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/llama_layout.hpp"
#include "rungs/model/random_llama.hpp"
#include "rungs/tensor/quantize.hpp"
#include "rungs/tokenizer/gguf_tokenizer.hpp"
#include "rungs/tokenizer/tokenizer.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("model");

static std::filesystem::path checkpoint(const std::string& name) {
  return weights_directory() / "references/checkpoints" / name;
}

static bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

TEST_CASE("a model becomes a GGUF file and is the same model there") {
  const Folder folder;
  int number = 0;
  for (const std::string from : {"sharded_f32", "bin_0_untied/model.bin", "bin_1_tied/model.bin", "gguf_f16/model.gguf",
                                 "gguf_q8_0/model.gguf", "gguf_q4_0/model.gguf", "gguf_q4_k_m/model.gguf"}) {
    CAPTURE(from);
    const std::filesystem::path to = folder / (std::to_string(number++) + ".gguf");
    convert_llama(checkpoint(from), to, {});
    const LlamaCheckpoint was(checkpoint(from), 1), is(to, 1);
    for (const TensorLayout& layout : llama_tensors(was.config)) {
      CAPTURE(layout.name);
      CHECK(same_bytes(is.file.get(layout.name), was.file.get(layout.name)));
    }
    const Config a = load_config(checkpoint(from)), b = load_config(to);
    CHECK(a.bos == b.bos);
    CHECK(a.eos == b.eos);
    CHECK(a.max_seq_len == b.max_seq_len);
    CHECK(a.epsilon == b.epsilon);
    CHECK(a.rope.theta == b.rope.theta);
  }
}

TEST_CASE("the scaling of RoPE goes into a GGUF file, as a key or as a divisor of each frequency") {
  const Folder folder;
  for (const std::string name : {"llama_linear", "llama_llama3"}) {
    CAPTURE(name);
    const std::filesystem::path from = weights_directory() / "references/models" / name, to = folder / (name + ".gguf");
    convert_llama(from, to, {});
    const Config was = load_config(from), is = load_config(to);
    const std::vector<double> want = rope_frequencies(was.rope, was.head_dim),
                              got = rope_frequencies(is.rope, is.head_dim);
    REQUIRE(want.size() == got.size());
    for (size_t i = 0; i < want.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= unit_roundoff * want[i]);
    CHECK(rope_frequencies({.theta = was.rope.theta}, was.head_dim) != want);  // else it would say nothing
  }
  CHECK_THROWS_WITH_AS(
      convert_llama(weights_directory() / "references/models/llama_dynamic", folder / "dynamic.gguf", {}),
      Contains("GGUF has no name for dynamic rope scaling"), UsageError);
  CHECK_FALSE(std::filesystem::exists(folder / "dynamic.gguf"));
}

TEST_CASE("what quantizes leaves embedding and norms, says its errors, and they are those of the rounding") {
  const Folder folder;
  const std::filesystem::path from = weights_directory() / "stories";
  const LlamaCheckpoint was(from, 1);
  for (const DType dtype : {DType::q8_0, DType::q4_0}) {
    CAPTURE(name_of(dtype));
    const std::filesystem::path to = folder / (std::string(name_of(dtype)) + ".gguf");
    const Converted done = convert_llama(from, to, {.dtype = dtype});
    CHECK(done.kept.empty());
    CHECK(done.no_tokenizer == "");
    CHECK(done.quantized.size() == size_t(7 * was.config.num_layers));
    const LlamaCheckpoint is(to, 1);
    size_t next = 0;
    for (const TensorLayout& layout : llama_tensors(was.config)) {
      CAPTURE(layout.name);
      const Tensor &before = was.file.get(layout.name), &after = is.file.get(layout.name);
      if (after.dtype() != dtype) {
        CHECK((layout.shape.rank() == 1 || layout.name == "model.embed_tokens.weight"));
        CHECK(after.dtype() == (layout.shape.rank() == 1 ? DType::f32 : before.dtype()));
        CHECK(values(after) == values(before));
        continue;
      }
      CHECK(same_bytes(after, converted(before, dtype)));
      const QuantizedTensor& t = done.quantized.at(next++);
      // A step is at most 2/254 (q8_0) or 1/8 (q4_0) of the largest of a block, whose scale is rounded to f16; the
      // error is at most half a step, and but for a last one that q4_0 cuts off, a whole one.
      const double step = t.largest / (dtype == DType::q8_0 ? 127 : 8) * (1 + 0x1p-11);
      CHECK(t.largest_error <= step * (dtype == DType::q8_0 ? 0.5 : 1) + t.largest * 0x1p-11);
      CHECK(t.squared_error > 0);
      CHECK(t.squared_error <= double(t.count) * t.largest_error * t.largest_error);
      double squared = 0;
      const std::vector<double> a = values(before), b = values(after);
      for (size_t i = 0; i < a.size(); ++i) squared += (a[i] - b[i]) * (a[i] - b[i]);
      CHECK(std::abs(t.squared_error - squared) <= 1e-9 * squared);
    }
    CHECK(next == done.quantized.size());
  }
}

TEST_CASE("rows that no block divides stay, and what would be rounded twice is refused") {
  const Folder folder;
  const Converted done = convert_llama(checkpoint("sharded_f32"), folder / "a.gguf", {.dtype = DType::q8_0});
  CHECK(done.quantized.size() + done.kept.size() == 7 * size_t(load_config(checkpoint("sharded_f32")).num_layers) + 1);
  CHECK_FALSE(done.kept.empty());
  CHECK(done.no_tokenizer.find("wanted a SentencePiece model or a tokenizer.json") != std::string::npos);
  CHECK_FALSE(has_tokenizer(read_gguf_metadata(folder / "a.gguf")));
  CHECK(open_gguf(folder / "a.gguf").tensors.get(done.kept.front()).dtype() == DType::f32);

  CHECK_THROWS_WITH_AS(convert_llama(checkpoint("gguf_q8_0/model.gguf"), folder / "b.gguf", {.dtype = DType::q4_0}),
                       Contains("is q8_0 already, and q4_0 of that would lose twice"), UsageError);
  CHECK_THROWS_WITH_AS(convert_llama(checkpoint("gguf_q8_0/model.gguf"), folder / "b", {}),
                       Contains("wanted a place that ends in .gguf"), UsageError);
  CHECK_THROWS_WITH_AS(convert_llama(folder / "a.gguf", folder / "a.gguf", {}),
                       Contains("wanted a place for a new model, found one there"), UsageError);
  CHECK_THROWS_WITH_AS(convert_llama(checkpoint("sharded_f32"), folder / "c", {.dtype = DType::q8_0}),
                       Contains("wanted f32 or bf16 for a directory, found q8_0"), UsageError);
  CHECK(folder.files() == std::vector<std::string>{"a.gguf"});
}

TEST_CASE("the chat template goes along into a GGUF file, with a tokenizer or without, and from there into another") {
  const Folder folder;
  std::filesystem::copy(weights_directory() / "references/models/llama_mha", folder / "model");
  int number = 0;
  const auto template_of = [&](const std::filesystem::path& from) {
    const std::filesystem::path to = folder / (std::to_string(number++) + ".gguf");
    convert_llama(from, to, {});
    const GgufMetadata m = read_gguf_metadata(to);
    return m.has("tokenizer.chat_template") ? m.text("tokenizer.chat_template") : "none";
  };
  CHECK(template_of(folder / "model") == "none");
  write_file(folder / "model/tokenizer_config.json", R"({"chat_template": "of the config"})");
  CHECK(template_of(folder / "model") == "of the config");
  write_file(folder / "model/tokenizer_config.json",
             R"({"chat_template": [{"name": "rag", "template": "a"}, {"name": "default", "template": "b"}, 3]})");
  CHECK(template_of(folder / "model") == "b");
  std::filesystem::copy(weights_directory() / "tokenizers/sentencepiece/tokenizer.model", folder / "model");
  write_file(folder / "model/chat_template.jinja", "of its own file");
  CHECK(template_of(folder / "model") == "of its own file");
  CHECK(has_tokenizer(read_gguf_metadata(folder / "3.gguf")));
  CHECK(template_of(folder / "3.gguf") == "of its own file");
}

TEST_CASE("a GGUF file says whether a token begins its texts") {
  const Folder folder;
  convert_llama(weights_directory() / "stories", folder / "model.gguf", {});
  CHECK(load_config(folder / "model.gguf").bos >= 0);
  const std::string key = "tokenizer.ggml.add_bos_token";
  std::string file = read_text(folder / "model.gguf");
  file.at(file.find(key) + key.size() + sizeof(uint32_t)) = 0;  // behind its type
  write_file(folder / "model.gguf", file);
  CHECK(load_config(folder / "model.gguf").bos == -1);
  CHECK(!load_tokenizer(folder / "model.gguf")->bos());
}
