#include "rungs/checkpoint/safetensors.hpp"

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("checkpoint");

static std::string safetensors(const std::string& header, const std::string& data) {
  return bytes(uint64_t(header.size())) + header + data;
}

/// {"w": {"dtype": ..., "shape": ..., "data_offsets": ...}}
static std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w": {"dtype": )" + dtype + R"(, "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}}";
}

TEST_CASE("every dtype of a checkpoint is read, and metadata is passed over") {
  const Folder folder;
  const std::string header =
      R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},)"
      R"("b": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}, "c": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]},)"
      R"("d": {"dtype": "BF16", "shape": [1], "data_offsets": [24, 26]}, "e": {"dtype": "F16", "shape": [1], "data_offsets": [26, 28]},)"
      R"("f": {"dtype": "I32", "shape": [1], "data_offsets": [28, 32]}, "g": {"dtype": "F32", "shape": [0, 7], "data_offsets": [32, 32]}})";
  const SafeTensors file(write_file(
      folder / "m", safetensors(header, bytes(1.5f) + bytes(-2.0f) + bytes(2.5) + bytes(int64_t(9)) +
                                            bytes(uint16_t(0x3fc0)) + bytes(uint16_t(0x3e00)) + bytes(int32_t(-4)))));
  CHECK(file.names() == std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g"});
  CHECK(values(file.get("a")) == std::vector<double>{1.5, -2});
  CHECK(file.get("b").value(0) == 2.5);
  CHECK(file.get("c").shape() == Shape{});
  CHECK(file.get("c").value(0) == 9);
  CHECK(file.get("d").value(0) == 1.5);
  CHECK(file.get("e").value(0) == 1.5);
  CHECK(file.get("f").value(0) == -4);
  CHECK(file.get("g").shape() == Shape{0, 7});
  CHECK_FALSE(file.has("__metadata__"));
  CHECK_FALSE(file.has("h"));
}

TEST_CASE("a misaligned tensor is copied, and reads the same") {
  const Folder folder;
  const SafeTensors file(
      write_file(folder / "m", safetensors(one("\"F32\"", "[2]", "[1, 9]"), "?" + bytes(1.5f) + bytes(2.5f))));
  CHECK(values(file.get("w")) == std::vector<double>{1.5, 2.5});
  CHECK(reinterpret_cast<uintptr_t>(file.get("w").raw()) % 4 == 0);
}

TEST_CASE("a tensor that is missing, or of another shape or dtype, is refused by name") {
  const Folder folder;
  const SafeTensors file(
      write_file(folder / "m", safetensors(one("\"F32\"", "[2, 1]", "[0, 8]"), std::string(8, '\0'))));
  CHECK_THROWS_WITH_AS(file.get("v"), Contains("m: v: wanted this tensor, found none"), FileError);
  CHECK_THROWS_WITH_AS(file.get("w", {1, 2}, DType::f32),
                       Contains("m: w: wanted (1, 2), found (2, 1); stored transposed?"), FileError);
  CHECK_THROWS_WITH_AS(file.get("w", {2}, DType::f32), Contains("m: w: wanted (2,), found (2, 1)"), FileError);
  CHECK_THROWS_WITH_AS(file.get("w", {2, 1}, DType::bf16), Contains("m: w: wanted bf16, found f32"), FileError);
}

TEST_CASE("a malformed checkpoint is refused with a sentence that names file and tensor") {
  const std::string eight(8, '\0');
  const std::string two = R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, )";
  const std::pair<std::string, std::string> bad[] = {
      {"", "wanted a safetensors file, found 0 bytes"},
      {"1234567", "wanted a safetensors file, found 7 bytes"},
      {bytes(uint64_t(100)) + "{}", "header: it claims 100 bytes, the file has 2 left"},
      {bytes(~uint64_t(0)) + "{}", "header: it claims 18446744073709551615 bytes, the file has 2 left"},
      {safetensors("not json", ""), "header: is not JSON"},
      {safetensors("", ""), "header: is not JSON"},
      {safetensors("{\"w\": \"\xff\xfe\"}", ""), "header: is not JSON"},
      {safetensors(R"({"w": 1e999})", ""), "header: is not JSON"},
      {safetensors("[]", ""), "header: wanted an object, found array"},
      {safetensors(R"({"w": 3})", ""), "w: wanted dtype, shape and data_offsets, found 3"},
      {safetensors(R"({"w": {"dtype": "F32", "shape": [1]}})", ""), "w: wanted dtype, shape and data_offsets"},
      {safetensors(one("\"F8_E4M3\"", "[8]", "[0, 8]"), eight),
       "w: dtype: wanted F32, F64, BF16, F16, I32 or I64, found \"F8_E4M3\""},
      {safetensors(one("32", "[2]", "[0, 8]"), eight), "w: dtype: wanted"},
      {safetensors(one("\"F32\"", "[3]", "[0, 8]"), eight),
       "w: shape (3,) of F32 takes 3 elements of 4 bytes, data_offsets give 8 bytes"},
      {safetensors(one("\"F32\"", "[1]", "[0, 7]"), eight), "data_offsets give 7 bytes"},
      {safetensors(one("\"F32\"", "[-2]", "[0, 8]"), eight), "w: shape: wanted at most 4 whole numbers, found [-2]"},
      {safetensors(one("\"F32\"", "[2.0]", "[0, 8]"), eight), "w: shape: wanted"},
      {safetensors(one("\"F32\"", "2", "[0, 8]"), eight), "w: shape: wanted"},
      {safetensors(one("\"F32\"", "[1, 1, 1, 1, 2]", "[0, 8]"), eight), "w: shape: wanted at most 4"},
      {safetensors(one("\"F32\"", "[4294967296, 4294967296]", "[0, 0]"), eight), "w: shape: a tensor of shape"},
      {safetensors(one("\"F64\"", "[2305843009213693952]", "[0, 0]"), eight), "too large"},  // its bytes wrap to 0
      {safetensors(one("\"F32\"", "[18446744073709551615]", "[0, 8]"), eight), "w: shape: a dimension is too large"},
      {safetensors(one("\"F32\"", "[2]", "[0, 12]"), eight), "w: data_offsets: [0, 12] is outside the 8 bytes of data"},
      {safetensors(one("\"F32\"", "[2]", "[8, 0]"), eight), "w: data_offsets: [8, 0] is outside"},
      {safetensors(one("\"F32\"", "[2]", "[18446744073709551608, 0]"), eight), "w: data_offsets: "},
      {safetensors(one("\"F32\"", "[2]", "[0]"), eight), "w: data_offsets: wanted two whole numbers, found [0]"},
      {safetensors(one("\"F32\"", "[2]", "[-8, 0]"), eight), "w: data_offsets: wanted two whole numbers"},
      {safetensors(two + R"("b": {"dtype": "F32", "shape": [1], "data_offsets": [2, 6]}})", eight),
       "a and b: wanted tensors apart, found that they overlap at byte 2 of the data"},
      {safetensors(two + R"("b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", eight),
       "overlap at byte 0"},
      {safetensors(two + R"("a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", eight),
       "header: \"a\": wanted each key once, found it twice"},
      {safetensors(R"({"a": {"dtype": "F32", "dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", eight),
       "header: \"dtype\": wanted each key once"},
      {bytes(uint64_t((16 << 20) + 1)) + std::string((16 << 20) + 1, ' '),
       "header: it has 16777217 bytes; those of up to 16777216 are read"},
  };
  const Folder folder;
  for (const auto& [content, sentence] : bad) {
    CAPTURE(sentence);
    const auto path = write_file(folder / "bad.safetensors", content);
    CHECK_THROWS_WITH_AS(SafeTensors{path}, Contains(sentence.c_str()), FileError);
    CHECK_THROWS_WITH_AS(SafeTensors{path}, Contains("bad.safetensors: "), FileError);
  }
}

TEST_CASE("a header of a million brackets neither crashes nor fills the screen") {
  const Folder folder;
  const std::string deep = std::string(1000000, '['), up(1000000, ']');
  for (const std::string& header : {deep, deep + up, R"({"w": )" + deep + up + "}", one("\"F32\"", deep + up, "[0, 8]"),
                                    one(deep + up, "[2]", "[0, 8]"), R"({"__metadata__": )" + deep + up + "}"}) {
    const auto path = write_file(folder / "deep", safetensors(header, std::string(8, '\0')));
    try {
      const SafeTensors file(path);
      CHECK(file.names().empty());  // nobody looks into metadata
    } catch (const FileError& e) {
      CHECK(std::string_view(e.what()).size() < 1000);
    }
  }
}

TEST_CASE("no truncation and no changed byte of a checkpoint does more than throw") {
  const Folder folder;
  const std::string good = safetensors(one("\"F32\"", "[1, 2]", "[0, 8]"), std::string(8, '\1'));
  for (size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(SafeTensors{write_file(folder / "m", std::string_view(good).substr(0, size))}, FileError);
  }
  for (size_t at = 0; at < good.size() - 8; ++at)
    for (const char byte : std::string_view("\0\1 \",-09:[]e{}\x7f\xff", 16)) {
      std::string changed = good;
      changed[at] = byte;
      try {
        const SafeTensors file(write_file(folder / "m", changed));
        for (const std::string& name : file.names()) CHECK(values(file.get(name)).size() * 4 <= 8);
      } catch (const FileError&) {
      }
    }
}

TEST_CASE("saved tensors come back, aligned, in a file that is whole") {
  const Folder folder;
  std::map<std::string, Tensor> tensors;
  tensors.emplace("first", random_tensor({3, 5}, 1));
  tensors.emplace("second.weight", Tensor({3}, DType::i64));
  tensors.emplace("empty", Tensor(Shape{0, 4}));
  save_safetensors(folder / "m", tensors);
  const SafeTensors file(folder / "m");
  CHECK(file.names() == std::vector<std::string>{"empty", "first", "second.weight"});
  for (const auto& [name, tensor] : tensors) {
    CHECK(file.get(name).shape() == tensor.shape());
    CHECK(file.get(name).dtype() == tensor.dtype());
    CHECK(values(file.get(name)) == values(tensor));
  }
  CHECK(reinterpret_cast<uintptr_t>(file.get("first").raw()) % 64 == 0);
  CHECK(folder.files() == std::vector<std::string>{"m"});
}

TEST_SUITE_END();
