#include "rungs/checkpoint/llama2c.hpp"

#include "rungs/base/file.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("checkpoint");

namespace {

std::string ints(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += bytes(int32_t(number));
  return text;
}

/// Floats 0, 1, 2, ... from `begin` on.
std::string counting(int64_t count, int64_t begin = 0) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += bytes(float(begin + i));
  return text;
}

/// C 4, F 3, L 1, H 2, G 1, V 5, context 2.
const std::vector<int64_t> sizes = {4, 3, 1, 2, 1, 5, 2};
constexpr int64_t embedding = 20, norm = 4, qo = 16, kv = 8, ffn = 12, angles = 2;
constexpr int64_t floats = embedding + norm + 2 * qo + 2 * kv + norm + 3 * ffn + norm;

std::string version_0() { return ints(sizes) + counting(floats + 2 * angles); }

std::string header(int64_t version, const std::string& more) {
  std::string text = ints({0x616b3432, version}) + ints(sizes) + '\1' + more;
  text.resize(256, '\0');
  return text;
}

std::string version_1() { return header(1, "") + counting(floats); }

/// Norms, then each matrix as int8 1, 2, 3, ... with a scale of 0.5 for each group of 4.
std::string version_2() {
  std::string text = header(2, bytes(int32_t(4))) + counting(3 * norm);
  for (const int64_t count : {embedding, qo, kv, kv, qo, ffn, ffn, ffn}) {
    for (int64_t i = 0; i < count; ++i) text += char(i + 1);
    for (int64_t i = 0; i < count / 4; ++i) text += bytes(0.5f);
  }
  return text;
}

void refused(const Folder& folder, const std::string& content, const std::string& sentence) {
  CAPTURE(sentence);
  const auto path = write_file(folder / "bad.bin", content);
  CHECK_THROWS_WITH_AS(open_llama2c(path), Contains(sentence.c_str()), FileError);
  CHECK_THROWS_WITH_AS(open_llama2c(path), Contains("bad.bin: "), FileError);
}

/// A good file with another number in its header.
std::string with(std::string file, size_t at, int64_t number) { return file.replace(at, 4, bytes(int32_t(number))); }

}  // namespace

TEST_CASE("every part of version 0 stands where its format says") {
  const Folder folder;
  const auto path = write_file(folder / "m.bin", version_0());
  const Llama2cHeader h = read_llama2c_header(path);
  CHECK(h.version == 0);
  CHECK(h.hidden_size == 4);
  CHECK(h.intermediate_size == 3);
  CHECK(h.num_layers == 1);
  CHECK(h.num_heads == 2);
  CHECK(h.num_kv_heads == 1);
  CHECK(h.vocab_size == 5);
  CHECK(h.max_seq_len == 2);
  CHECK(h.tied);
  const TensorSet file = open_llama2c(path);
  CHECK(file.names().size() == 11);
  const auto first = [&](const std::string& name) { return file.get(name).value(0); };
  CHECK(first("model.embed_tokens.weight") == 0);
  CHECK(first("model.layers.0.input_layernorm.weight") == 20);
  CHECK(first("model.layers.0.self_attn.q_proj.weight") == 24);
  CHECK(first("model.layers.0.self_attn.k_proj.weight") == 40);
  CHECK(first("model.layers.0.self_attn.v_proj.weight") == 48);
  CHECK(first("model.layers.0.self_attn.o_proj.weight") == 56);
  CHECK(first("model.layers.0.post_attention_layernorm.weight") == 72);
  CHECK(first("model.layers.0.mlp.gate_proj.weight") == 76);
  CHECK(first("model.layers.0.mlp.down_proj.weight") == 88);
  CHECK(first("model.layers.0.mlp.up_proj.weight") == 100);
  CHECK(first("model.norm.weight") == 112);
  CHECK(file.get("model.layers.0.mlp.down_proj.weight").shape() == Shape{4, 3});
}

TEST_CASE("a negative vocabulary of version 0 says that the output projection stands apart") {
  const Folder folder;
  const auto path = write_file(folder / "m.bin", with(version_0(), 20, -5) + counting(embedding, 1000));
  CHECK_FALSE(read_llama2c_header(path).tied);
  CHECK(read_llama2c_header(path).vocab_size == 5);
  CHECK(open_llama2c(path).get("lm_head.weight").value(0) == 1000);
}

TEST_CASE("norms come first in version 1, and the rest in its order") {
  const Folder folder;
  const TensorSet file = open_llama2c(write_file(folder / "m.bin", version_1()));
  const auto first = [&](const std::string& name) { return file.get(name).value(0); };
  CHECK(first("model.layers.0.input_layernorm.weight") == 0);
  CHECK(first("model.layers.0.post_attention_layernorm.weight") == 4);
  CHECK(first("model.norm.weight") == 8);
  CHECK(first("model.embed_tokens.weight") == 12);
  CHECK(first("model.layers.0.self_attn.q_proj.weight") == 32);
  CHECK(first("model.layers.0.mlp.up_proj.weight") == 104);
  CHECK_FALSE(file.has("lm_head.weight"));
}

TEST_CASE("rows of q and k come from interleaved pairs into halves, within each head") {
  const Folder folder;
  // 2 heads of width 4 in 8 channels, 1 of them for k: row r of q starts with 8 r.
  const std::vector<int64_t> wide = {8, 1, 1, 2, 1, 1, 1};
  std::string text = ints({0x616b3432, 1}) + ints(wide) + '\1';
  text.resize(256, '\0');
  text += counting(8 + 8 + 8 + 8) + counting(64) + counting(32) + counting(32) + counting(64) + counting(24);
  const TensorSet file = open_llama2c(write_file(folder / "m.bin", text));
  const auto rows = [&](const char* name) {
    const Tensor& tensor = file.get(std::string("model.layers.0.self_attn.") + name + "_proj.weight");
    std::vector<int> starts;
    for (int64_t r = 0; r < tensor.dim(0); ++r) starts.push_back(int(tensor.value(r * 8)) / 8);
    return starts;
  };
  CHECK(rows("q") == std::vector<int>{0, 2, 1, 3, 4, 6, 5, 7});
  CHECK(rows("k") == std::vector<int>{0, 2, 1, 3});
  CHECK(rows("v") == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("int8 becomes f32 by the scale of its group") {
  const Folder folder;
  std::string text = version_2();
  text.replace(256 + 48 + 20, 4, bytes(2.0f));  // the first scale of the embedding
  text[256 + 48 + 1] = char(-7);
  const auto path = write_file(folder / "m.bin", text);
  CHECK(read_llama2c_header(path).group == 4);
  const TensorSet file = open_llama2c(path);
  const Tensor& table = file.get("model.embed_tokens.weight");
  CHECK(table.shape() == Shape{5, 4});
  CHECK(table.value(0) == 2);
  CHECK(table.value(1) == -14);
  CHECK(table.value(4) == 2.5);
  CHECK(table.value(19) == 10);
  CHECK(file.get("model.norm.weight").value(0) == 8);
}

TEST_CASE("a .bin whose header is wrong, or promises more or less than the file holds, is refused") {
  const Folder folder;
  refused(folder, "", "wanted a llama2.c file, found 0 bytes");
  refused(folder, version_0().substr(0, 27), "found 27 bytes");
  refused(folder, version_1().substr(0, 255), "header: wanted 256 bytes, found 255");
  refused(folder, with(version_1(), 4, 3), "version: wanted 1 or 2, found 3");
  refused(folder, with(version_1(), 4, 0), "version: wanted 1 or 2, found 0");
  refused(folder, with(version_0(), 0, 0), "dim: wanted a number from 1 to 16777216, found 0");
  refused(folder, with(version_0(), 4, -1), "hidden_dim: wanted a number from 1 to 16777216, found -1");
  refused(folder, with(version_0(), 8, 4097), "n_layers: wanted a number from 0 to 4096, found 4097");
  refused(folder, with(version_0(), 12, 3), "n_heads: wanted heads of an even width in 4 channels, found 3 heads");
  refused(folder, with(version_0(), 12, 4), "n_heads: wanted heads of an even width in 4 channels, found 4 heads");
  refused(folder, with(version_0(), 16, 3), "n_kv_heads: wanted a number from 1 to 2, found 3");
  refused(folder, with(with(with(version_0(), 0, 12), 12, 3), 16, 2), "n_kv_heads: wanted a divisor of n_heads, 3");
  refused(folder, with(version_0(), 20, 0), "vocab_size: wanted a number other than 0");
  refused(folder, with(version_0(), 20, -2147483648), "vocab_size: wanted a number from -16777216");
  refused(folder, with(version_1(), 28, -5), "vocab_size: wanted a number from 1 to");
  refused(folder, with(version_0(), 24, 0), "max_seq_len: wanted");
  std::string shared = version_1();
  shared[36] = '\2';
  refused(folder, shared, "shared_classifier: wanted 0 or 1, found 2");
  refused(folder, with(version_2(), 37, 0), "group_size: wanted a number from 1");
  refused(folder, with(version_2(), 37, 3), "model.embed_tokens.weight: wanted groups of 3, found 20 elements");

  refused(folder, with(version_0(), 20, 16777216),
          "model.embed_tokens.weight: wanted 67108864 elements of 4 bytes, the file has 480 bytes left");
  refused(folder, with(version_0(), 8, 2), "bytes left");
  refused(folder, with(version_0(), 20, -5),
          "lm_head.weight: wanted 20 elements of 4 bytes, the file has 0 bytes left");
  refused(folder, version_0() + "x", "wanted the file to end behind the table of angles, found 1 bytes more");
  refused(folder, version_1() + "abcd", "wanted the file to end behind model.layers.0.mlp.up_proj.weight, found 4");
  // Products that would wrap around in 64 bits if nobody looked.
  refused(folder, ints({16777216, 16777216, 4096, 1, 1, 16777216, 16777216}) + version_0(), "bytes left");
}

TEST_CASE("no truncation and no changed header of a .bin does more than throw") {
  const Folder folder;
  std::mt19937 bits(1);
  for (const std::string& good : {version_0(), version_1(), version_2()}) {
    for (size_t size = 0; size < good.size(); size += 1 + size / 40)
      CHECK_THROWS_AS(open_llama2c(write_file(folder / "m.bin", good.substr(0, size))), FileError);
    for (int round = 0; round < 1000; ++round) {
      std::string changed = good;
      for (uint32_t n = 0; n <= bits() % 3; ++n) changed[bits() % 44] = round % 2 ? char(bits()) : char(bits() % 8);
      try {
        const TensorSet file = open_llama2c(write_file(folder / "m.bin", changed));
        for (const std::string& name : file.names()) CHECK(values(file.get(name)).size() <= good.size());
      } catch (const FileError&) {
      }
    }
  }
}

TEST_CASE("what is written reads back to the same bytes, in both versions, tied and not") {
  const Folder folder;
  for (const bool tied : {true, false})
    for (const int version : {0, 1}) {
      std::string content = version == 0 ? version_0() : version_1();
      if (!tied) {
        content += counting(embedding, 500);
        version == 0 ? void(content = with(content, 20, -5)) : void(content[36] = '\0');
      }
      const auto path = write_file(folder / "m.bin", content), copy = folder / "copy.bin";
      const TensorSet file = open_llama2c(path);
      int64_t written = 0;
      save_llama2c(
          copy, read_llama2c_header(path), [&](const std::string& name) { return file.get(name).view(); },
          [&](int64_t more) { written += more; });
      if (version == 0) {  // the file above counts where a real one has angles
        const size_t at = content.size() - size_t(2 * angles + (tied ? 0 : embedding)) * 4;
        content.replace(at, 16, bytes(1.0f) + bytes(std::cos(1.0f)) + bytes(0.0f) + bytes(std::sin(1.0f)));
      }
      CHECK(read_text(copy) == content);
      CHECK(written == int64_t(content.size()) - (version == 0 ? 28 : 256));
    }
}

TEST_SUITE_END();
