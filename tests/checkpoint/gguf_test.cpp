#include "rungs/checkpoint/gguf.hpp"

#include "rungs/model/config.hpp"
#include "rungs/model/llama_gguf.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("checkpoint");

/// Written by the gguf package: weights/make_checkpoints.py.
static std::filesystem::path written(const std::string& kind) {
  return weights_directory() / "references/checkpoints" / ("gguf_" + kind) / "model.gguf";
}

template <class T>
static std::string bytes_of_number(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}
static std::string text(const std::string& value) { return bytes_of_number(uint64_t(value.size())) + value; }

/// A file of one key and some tensors of f32 or another type, of 32 elements each.
struct Made {
  uint32_t version = 3, type = 0;
  uint64_t tensors = 1, keys = 1, dim = 32;
  std::vector<uint64_t> offsets = {0};
  std::string key = text("general.alignment") + bytes_of_number(uint32_t(4)) + bytes_of_number(uint32_t(32));
  size_t data = 128;

  std::string bytes() const {
    std::string file = "GGUF" + bytes_of_number(version) + bytes_of_number(tensors) + bytes_of_number(keys) + key;
    for (size_t i = 0; i < offsets.size(); ++i)
      file += text("t" + std::to_string(i)) + bytes_of_number(uint32_t(1)) + bytes_of_number(dim) +
              bytes_of_number(type) + bytes_of_number(offsets[i]);
    file.resize((file.size() + 31) / 32 * 32 + data);
    return file;
  }
};

static void refused(const std::string& bytes, const std::string& sentence) {
  const Folder folder;
  write_file(folder / "model.gguf", bytes);
  const std::string path = (folder / "model.gguf").string();
  INFO(sentence);
  CHECK_THROWS_WITH_AS(open_gguf(path), (path + ": " + sentence).c_str(), FileError);
}

TEST_CASE("the metadata and the tensors of a GGUF file are those that were written") {
  const Gguf file = open_gguf(written("q8_0"));
  CHECK(file.metadata.text("general.architecture") == "llama");
  CHECK(file.metadata.whole("llama.embedding_length", 1, 100) == 32);
  CHECK(file.metadata.number("llama.rope.freq_base", 0, 1e9) == 10000);
  CHECK(file.tensors.get("blk.1.ffn_down.weight").shape() == Shape{32, 64});
  CHECK(file.tensors.get("blk.1.ffn_down.weight").dtype() == DType::q8_0);
  CHECK(file.tensors.get("output_norm.weight").dtype() == DType::f32);
  const Config c = load_config(written("q4_0"));
  CHECK(c.num_heads == 4);
  CHECK(c.num_kv_heads == 2);
  CHECK(c.bos == 1);
  CHECK(c.eos == std::vector<int32_t>{2});
}

TEST_CASE("a GGUF file that is not as it should be is refused in one sentence") {
  Made good;
  const Folder folder;
  write_file(folder / "good.gguf", good.bytes());
  CHECK(open_gguf(folder / "good.gguf").tensors.get("t0").count() == 32);

  refused("something else, and long enough", "wanted a GGUF file, found something else");
  refused(Made{.version = 1}.bytes(), "version: wanted 2 or 3, found 1");
  refused(Made{.version = 0x03000000}.bytes(), "wanted a little-endian file, found a big-endian one");
  refused(Made{.type = 10}.bytes(),
          "t0: type: wanted one of F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q6_K, I32, found number 10");
  refused(Made{.dim = uint64_t(1) << 62}.bytes(), "t0: a tensor of shape (4611686018427387904) is too large");
  refused(Made{.dim = 64}.bytes(), "t0: wanted 256 bytes from 0 on, the file has 128 bytes of data");
  refused(Made{.type = 8, .dim = 40}.bytes(), "t0: wanted rows of whole blocks of 32, found rows of 40");
  refused(Made{.offsets = {8}}.bytes(), "t0: offset: wanted a multiple of 32, found 8");
  refused(Made{.offsets = {1 << 20}}.bytes(), "t0: wanted 128 bytes from 1048576 on, the file has 128 bytes of data");
  refused(Made{.tensors = 2, .offsets = {0, 64}, .data = 256}.bytes(),
          "t1: wanted tensors that do not overlap, found it over t0");
  refused(Made{.key = text("k") + bytes_of_number(uint32_t(13))}.bytes(),
          "k: type: wanted a number from 0 to 12, found 13");
  refused(Made{.keys = 2, .key = good.key + good.key}.bytes(),
          "general.alignment: wanted each key once, found it twice");
  refused(Made{.key = text("general.alignment") + bytes_of_number(uint32_t(4)) + bytes_of_number(uint32_t(48))}.bytes(),
          "general.alignment: wanted a power of two, found 48");
}

TEST_CASE("no cut and no changed byte of a GGUF file does more than be refused") {
  const std::string whole = read_text(written("q4_0"));
  const Folder folder;
  std::mt19937 random(7);
  const auto path = folder / "model.gguf";
  int refusals = 0;
  const auto attempt = [&](const std::string& bytes) {
    write_file(path, bytes);
    try {
      load_config(path);
      open_llama_gguf(path, load_config(written("q4_0")));
    } catch (const FileError&) {
      ++refusals;
    }
  };
  for (size_t end = 0; end < 3000; end += 7) attempt(whole.substr(0, end));
  CHECK(refusals == 429);
  for (int i = 0; i < 1500; ++i) {
    std::string changed = whole;
    changed[random() % 2600] = char(random());
    attempt(changed);
  }
  CHECK(refusals > 429 + 300);
}

TEST_SUITE_END();
