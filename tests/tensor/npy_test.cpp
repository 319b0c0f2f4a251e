#include "rungs/tensor/npy.hpp"

#include <fmt/format.h>

#include "rungs/base/file.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("tensor");

/// An .npy file of a format version, with this header and these bytes of data.
static std::string npy(int version, std::string header, const std::string& data) {
  const size_t start = version == 1 ? 10 : 12;
  header.append(64 - (start + header.size() + 1) % 64, ' ');
  header += '\n';
  const std::string length = version == 1 ? bytes(uint16_t(header.size())) : bytes(uint32_t(header.size()));
  return "\x93NUMPY" + std::string{char(version), '\0'} + length + header + data;
}

static std::string header(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, fortran, shape);
}

static Tensor parse(const std::string& file) { return parse_npy(as_bytes(file), "x.npy"); }

TEST_CASE("npy versions 1, 2 and 3 are read") {
  for (const int version : {1, 2, 3}) {
    const Tensor t = parse(npy(version, header("<f4", "(2, 3)"), std::string(20, '\0') + bytes(1.5f)));
    CHECK(t.shape() == Shape{2, 3});
    CHECK(t(1, 2) == 1.5f);
    CHECK(t(0, 0) == 0);
  }
}

TEST_CASE("every dtype of npy is read") {
  CHECK(parse(npy(1, header("<f8", "(1,)"), bytes(-2.5))).value(0) == -2.5);
  CHECK(parse(npy(1, header("<f2", "(1,)"), bytes(uint16_t(0x3e00)))).value(0) == 1.5);
  CHECK(parse(npy(1, header("|V2", "(1,)"), bytes(uint16_t(0x3fc0)))).value(0) == 1.5);
  CHECK(parse(npy(1, header("<V2", "(1,)"), bytes(uint16_t(0x3fc0)))).dtype() == DType::bf16);
  CHECK(parse(npy(1, header("<i4", "(1,)"), bytes(int32_t(-7)))).at<int32_t>(0) == -7);
  CHECK(parse(npy(1, header("<i8", "(1,)"), bytes(int64_t(-1) << 40))).at<int64_t>(0) == int64_t(-1) << 40);
}

TEST_CASE("npy scalars, empty arrays and other spellings are read") {
  const Tensor scalar = parse(npy(1, header("<f4", "()"), bytes(4.0f)));
  CHECK(scalar.shape() == Shape{});
  CHECK(scalar.value(0) == 4);
  CHECK(parse(npy(1, header("<f4", "(3, 0, 2)"), "")).shape() == Shape{3, 0, 2});
  CHECK(parse(npy(1, R"({"shape":(1,),"fortran_order":False,"descr":"<f4"})", bytes(4.0f))).value(0) == 4);
}

TEST_CASE("what is saved as npy comes back, of every dtype and rank") {
  const Folder folder;
  for (const DType type : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64})
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{0, 3}, Shape{2, 3}, Shape{2, 3, 4}, Shape{1, 2, 3, 4}}) {
      Tensor t(shape, type);
      for (size_t i = 0; i < t.bytes(); ++i)
        static_cast<unsigned char*>(t.raw())[i] = static_cast<unsigned char>(37 * i + 1);
      save_npy(folder / "t.npy", t);
      CHECK(std::filesystem::file_size(folder / "t.npy") % 64 == t.bytes() % 64);  // the data is aligned
      const Tensor back = load_npy(folder / "t.npy");
      CHECK(back.shape() == shape);
      CHECK(back.dtype() == type);
      CHECK(std::memcmp(back.raw(), t.raw(), t.bytes()) == 0);
    }
  CHECK(folder.files() == std::vector<std::string>{"t.npy"});
}

TEST_CASE("a malformed npy file is refused with a sentence that names file and field") {
  const std::string one = bytes(1.0f);
  const std::pair<std::string, std::string> bad[] = {
      {"", "x.npy: wanted an .npy file"},
      {"PK\x03\x04 this is a zip file", "x.npy: wanted an .npy file"},
      {"\x93NUMPY\x01", "x.npy: wanted an .npy file"},
      {npy(4, header("<f4", "(1,)"), one), "version: wanted 1, 2 or 3, found 4"},
      {npy(1, header("<f4", "(1,)"), one).substr(0, 40), "header: it claims 118 bytes, the file has 30 left"},
      {"\x93NUMPY" + std::string("\x02\x00\xff\xff\xff\xff{}", 8),
       "header: it claims 4294967295 bytes, the file has 2 left"},
      {"\x93NUMPY" + std::string("\x02\x00\x01\x00", 4), "wanted a header, found the end of the file"},
      {npy(1, header("<f4", "(1,)", "True"), one), "fortran_order: wanted False (row-major), found True"},
      {npy(1, header("<f4", "(1,)", "Maybe"), one), "fortran_order: wanted True or False"},
      {npy(1, header(">f4", "(1,)"), one), "descr: wanted little-endian data, found '>f4'"},
      {npy(1, header("<c8", "(1,)"), bytes(1.0)), "descr: wanted one of <f4 <f8 <f2 <i4 <i8 |V2 (bf16), found '<c8'"},
      {npy(1, header("|O", "(1,)"), one), "found '|O'"},
      {npy(1, header("|b1", "(1,)"), "\x01"), "found '|b1'"},
      {npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", one), "descr: wanted one dtype"},
      {npy(1, header("<f4", "(2,)"), one), "data: shape (2,) of f32 takes 2 elements of 4 bytes, the file has 4 bytes"},
      {npy(1, header("<f4", "(1,)"), one + one),
       "data: shape (1,) of f32 takes 1 elements of 4 bytes, the file has 8 bytes"},
      {npy(1, header("<f4", "(1,)"), one + "?"), "the file has 5 bytes"},
      {npy(1, header("<f4", "(4294967296, 4294967296)"), ""),
       "shape: a tensor of shape (4294967296, 4294967296) is too large"},
      {npy(1, header("<f8", "(2305843009213693952,)"), ""), "too large"},  // its bytes wrap to 0
      {npy(1, header("<f4", "(99999999999999999999,)"), one), "shape: a dimension does not fit in 64 bits"},
      {npy(1, header("<f4", "(-1,)"), one), "shape: wanted whole numbers"},
      {npy(1, header("<f4", "(1.0,)"), one), "shape: a comma is missing"},
      {npy(1, header("<f4", "(1, 1, 1, 1, 1)"), one), "shape: wanted at most 4 dimensions, found more"},
      {npy(1, header("<f4", "(1"), one), "shape: "},
      {npy(1, header("<f4", "1"), one), "header: wanted '('"},
      {npy(1, "{'descr': '<f4', 'shape': (1,)}", one), "one is missing"},
      {npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'extra': 1}", one), "found 'extra'"},
      {npy(1, "{'descr': '<f4' 'shape': (1,)}", one), "header: a comma is missing"},
      {npy(1, "{'descr", one), "header: wanted a quoted word"},
      {npy(1, "[1, 2]", one), "header: wanted '{'"},
  };
  for (const auto& [file, sentence] : bad) {
    CAPTURE(sentence);
    CHECK_THROWS_WITH_AS(parse(file), Contains(sentence.c_str()), FileError);
    CHECK_THROWS_WITH_AS(parse(file), Contains("x.npy: "), FileError);
  }
}

TEST_CASE("no truncation and no changed byte of an npy file does more than throw") {
  const std::string good = npy(1, header("<i4", "(2, 3)"), std::string(24, '\1'));
  for (size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(parse(good.substr(0, size)), FileError);
  }
  int accepted = 0;
  for (size_t at = 0; at < good.size() - 24; ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = good;
      changed[at] = char(byte);
      try {
        const Tensor t = parse(changed);
        accepted += t.bytes() == 24;
      } catch (const FileError&) {
      }
    }
  CHECK(accepted > 128);  // at least the spaces of the padding may be anything
}

TEST_CASE("a file that is not there, or is a folder, is refused by name") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(load_npy(folder / "none.npy"), Contains("none.npy: cannot be opened: No such file"), FileError);
  CHECK_THROWS_WITH_AS(load_npy(folder.path()), Contains("is not a file"), FileError);
  CHECK_THROWS_WITH_AS(load_npy(write_file(folder / "empty.npy", "")), Contains("wanted an .npy file"), FileError);
}

TEST_SUITE_END();
