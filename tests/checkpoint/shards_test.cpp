#include "rungs/checkpoint/shards.hpp"

#include <map>

#include "rungs/checkpoint/safetensors.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("checkpoint");

namespace {

constexpr const char* first = "model-00001-of-00002.safetensors";
constexpr const char* second = "model-00002-of-00002.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

/// {"weight_map": {NAME: SHARD, ...}}
std::string index_of(const std::vector<std::pair<std::string, std::string>>& map) {
  std::string text = R"({"metadata": {"total_size": 24}, "weight_map": {)";
  for (const auto& [name, shard] : map) text += (text.ends_with("{") ? "\"" : ", \"") + name + "\": \"" + shard + "\"";
  return text + "}}";
}

void save(const std::filesystem::path& path, const std::vector<std::string>& names) {
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : names) tensors.emplace(name, random_tensor({2}, unsigned(name[0])));
  save_safetensors(path, tensors);
}

/// Two shards, a and b in the first, c in the second.
struct Shards {
  Folder folder;
  Shards() {
    save(folder / first, {"a", "b"});
    save(folder / second, {"c"});
    write_file(folder / index_name, index_of({{"a", first}, {"b", first}, {"c", second}}));
  }
  void refused(const std::string& sentence) const {
    CAPTURE(sentence);
    CHECK_THROWS_WITH_AS(open_shards(folder.path()), Contains(sentence.c_str()), FileError);
  }
};

}  // namespace

TEST_CASE("shards are one set of tensors, and each knows its file") {
  const Shards shards;
  TensorSet set = open_shards(shards.folder.path());
  CHECK(set.names() == std::vector<std::string>{"a", "b", "c"});
  CHECK(set.file_of("b") == shards.folder / first);
  CHECK(set.file_of("c") == shards.folder / second);
  const TensorSet moved = std::move(set);
  for (const char* name : {"a", "b", "c"})
    CHECK(values(moved.get(name)) == values(random_tensor({2}, unsigned(name[0]))));
  CHECK_THROWS_WITH_AS(moved.get("d"), Contains("model.safetensors.index.json: d: wanted this tensor, found none"),
                       FileError);
  CHECK_THROWS_WITH_AS(moved.get("c", Shape{3}), Contains("00002.safetensors: c: wanted (3,), found (2,)"), FileError);
}

TEST_CASE("a single file is taken before an index, as transformers does") {
  const Shards shards;
  save(shards.folder / "model.safetensors", {"z"});
  CHECK(open_shards(shards.folder.path()).names() == std::vector<std::string>{"z"});
}

TEST_CASE("a shard that is missing, or that the index does not name, is refused by name") {
  {
    const Shards shards;
    std::filesystem::remove(shards.folder / second);
    shards.refused(
        "model-00002-of-00002.safetensors: wanted this shard, which model.safetensors.index.json names, found none");
  }
  {
    const Shards shards;
    save(shards.folder / "model-00003-of-00003.safetensors", {"d"});
    shards.refused("wanted every shard in it, found model-00003-of-00003.safetensors, which it does not name");
  }
  const Shards shards;
  std::filesystem::remove(shards.folder / index_name);
  shards.refused("neither this file nor model.safetensors.index.json; shards such as model-0000");
}

TEST_CASE("index and shards must agree on every tensor") {
  const Shards shards;
  write_file(shards.folder / index_name, index_of({{"a", first}, {"b", first}, {"c", second}, {"d", second}}));
  shards.refused(
      "model-00002-of-00002.safetensors: d: wanted this tensor here, as model.safetensors.index.json says, found none");
  write_file(shards.folder / index_name, index_of({{"a", first}, {"b", second}, {"c", second}}));
  shards.refused(
      "model-00001-of-00002.safetensors: b: wanted the tensors that model.safetensors.index.json places here");
  write_file(shards.folder / index_name, index_of({{"a", first}, {"c", second}}));
  shards.refused(
      "model-00001-of-00002.safetensors: b: wanted the tensors that model.safetensors.index.json places here");
  save(shards.folder / second, {"a", "c"});
  write_file(shards.folder / index_name, index_of({{"a", first}, {"b", first}, {"c", second}}));
  shards.refused("model-00002-of-00002.safetensors: a: wanted the tensors that");
}

TEST_CASE("an index that is no index, or reaches for files elsewhere, is refused") {
  const Shards shards;
  const std::pair<const char*, const char*> bad[] = {
      {"", "is not JSON"},
      {"[]", "wanted an object, found array"},
      {"{}", "weight_map: wanted a value, found none"},
      {R"({"weight_map": 3})", "weight_map: wanted an object, found number"},
      {R"({"weight_map": {}})", "weight_map: wanted tensors, found none"},
      {R"({"weight_map": {"a": 3}})", "weight_map: a: wanted the name of a .safetensors file beside it, found 3"},
      {R"({"weight_map": {"a": "../x.safetensors"}})", "found \"../x.safetensors\""},
      {R"({"weight_map": {"a": "/etc/passwd"}})", "found \"/etc/passwd\""},
      {R"({"weight_map": {"a": "/etc/passwd\u0000.safetensors"}})", "wanted the name of a .safetensors file beside it"},
      {R"({"weight_map": {"a": "x\u0000.safetensors"}})", "wanted the name of a .safetensors file beside it"},
      {R"({"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}})",
       "\"a\": wanted each key once, found it twice"},
      {R"({"weight_map": {"a": ""}})", "a: wanted the name of a .safetensors file"},
  };
  for (const auto& [text, sentence] : bad) {
    write_file(shards.folder / index_name, text);
    shards.refused(sentence);
  }
}

TEST_CASE("a directory without safetensors says what to do with what is there") {
  const Folder folder;
  const auto refused = [&](const char* sentence) {
    CHECK_THROWS_WITH_AS(open_shards(folder.path()), Contains(sentence), FileError);
  };
  refused("model.safetensors: cannot be opened: there is neither this file nor model.safetensors.index.json");
  write_file(folder / "pytorch_model.bin", "");
  refused("; pytorch_model.bin is PyTorch's own format: save the model as safetensors");
  std::filesystem::remove(folder / "pytorch_model.bin");
  write_file(folder / "consolidated.00.pth", "");
  refused("; consolidated.00.pth is Meta's own format: weights/convert/convert_meta.py turns it into this one");
}

TEST_CASE("no truncation and no changed byte of an index does more than throw") {
  const Shards shards;
  const std::string good = index_of({{"a", first}, {"b", first}, {"c", second}});
  for (size_t size = 0; size < good.size(); ++size) {
    write_file(shards.folder / index_name, good.substr(0, size));
    CHECK_THROWS_AS(open_shards(shards.folder.path()), FileError);
  }
  std::mt19937 bits(1);
  for (int round = 0; round < 400; ++round) {
    std::string changed = good;
    changed[bits() % good.size()] = char(bits());
    write_file(shards.folder / index_name, changed);
    try {
      const TensorSet set = open_shards(shards.folder.path());
      CHECK(set.names().size() == 3);
    } catch (const FileError&) {
    }
  }
}

TEST_SUITE_END();
