#include "rungs/tensor/npy.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <optional>

#include "rungs/base/file.hpp"

namespace rungs {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Reads the Python dictionary of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  struct Header {
    std::string descr;
    bool fortran_order = false;
    Shape shape;
  };

  Header read() {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
    want('{');
    while (!skip('}')) {
      const std::string key = quoted();
      want(':');
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"') fail("descr: wanted one dtype like '<f4', found a structured one");
        descr = quoted();
      } else if (key == "fortran_order") {
        fortran_order = boolean();
      } else if (key == "shape") {
        shape = tuple();
      } else {
        fail(fmt::format("header: wanted descr, fortran_order and shape, found '{}'", key));
      }
      if (!skip(',') && peek() != '}') fail("header: a comma is missing");
    }
    if (!descr || !fortran_order || !shape) fail("header: wanted descr, fortran_order and shape, one is missing");
    return {*descr, *fortran_order, *shape};
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw FileError(name_ + ": " + what); }
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool skip(char c) { return peek() == c && ++at_; }
  void want(char c) {
    if (!skip(c)) fail(fmt::format("header: wanted '{}' at byte {} of it", c, at_));
  }
  std::string quoted() {
    const char quote = peek();
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) fail(fmt::format("header: wanted a quoted word at byte {} of it", at_));
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    peek();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) return at_ += word.size(), word == "True";
    fail("fortran_order: wanted True or False");
  }
  Shape tuple() {
    int64_t dims[Shape::max_rank];
    size_t rank = 0;
    for (want('('); !skip(')');) {
      int64_t dim = 0;
      if (!std::isdigit(static_cast<unsigned char>(peek()))) fail("shape: wanted whole numbers");
      for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
        if (__builtin_mul_overflow(dim, 10, &dim) || __builtin_add_overflow(dim, text_[at_] - '0', &dim))
          fail("shape: a dimension does not fit in 64 bits");
      if (rank == size_t(Shape::max_rank)) fail("shape: wanted at most 4 dimensions, found more");
      dims[rank++] = dim;
      if (!skip(',') && peek() != ')') fail("shape: a comma is missing");
    }
    try {
      return Shape(std::span<const int64_t>(dims, rank));
    } catch (const ShapeError& e) {
      fail(std::string("shape: ") + e.what());
    }
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

DType parse_descr(const std::string& descr, const std::string& name) {
  if (descr.starts_with('>'))
    throw FileError(fmt::format("{}: descr: wanted little-endian data, found '{}'", name, descr));
  if (descr == "<f4") return DType::f32;
  if (descr == "<f8") return DType::f64;
  if (descr == "<f2") return DType::f16;
  if (descr == "<i4") return DType::i32;
  if (descr == "<i8") return DType::i64;
  if (descr == "<V2" || descr == "|V2") return DType::bf16;
  throw FileError(fmt::format("{}: descr: wanted one of <f4 <f8 <f2 <i4 <i8 |V2 (bf16), found '{}'", name, descr));
}

std::string_view descr_of(DType type) {
  constexpr std::string_view descr[] = {"<f4", "<f8", "|V2", "<f2", "<i4", "<i8"};
  return descr[size_t(type)];
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> file, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  if (file.size() < 10 || std::memcmp(bytes, magic.data(), magic.size()) != 0)
    throw FileError(fmt::format("{}: wanted an .npy file, which begins with \\x93NUMPY, found another one", name));
  const int version = bytes[6];
  if (version < 1 || version > 3)
    throw FileError(fmt::format("{}: version: wanted 1, 2 or 3, found {}", name, version));
  const size_t length_bytes = version == 1 ? 2 : 4, start = 8 + length_bytes;
  if (file.size() < start) throw FileError(fmt::format("{}: wanted a header, found the end of the file", name));
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= size_t(bytes[8 + i]) << (8 * i);
  if (length > file.size() - start)
    throw FileError(
        fmt::format("{}: header: it claims {} bytes, the file has {} left", name, length, file.size() - start));

  HeaderReader reader({reinterpret_cast<const char*>(bytes) + start, length}, name);
  const auto header = reader.read();
  const DType dtype = parse_descr(header.descr, name);
  if (header.fortran_order)
    throw FileError(
        fmt::format("{}: fortran_order: wanted False (row-major), found True; save np.ascontiguousarray(a)", name));
  const size_t found = file.size() - start - length, wanted = size_t(header.shape.count());
  if (found / bytes_of(dtype) != wanted || found % bytes_of(dtype) != 0)
    throw FileError(fmt::format("{}: data: shape {} of {} takes {} elements of {} bytes, the file has {} bytes", name,
                                to_string(header.shape), name_of(dtype), wanted, bytes_of(dtype), found));
  Tensor tensor = Tensor::uninitialised(header.shape, dtype);
  if (found) std::memcpy(tensor.raw(), bytes + start + length, found);
  return tensor;
}

Tensor load_npy(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_npy(file.bytes(), path.string());
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr_of(tensor.dtype()),
                                   to_string(tensor.shape()));
  constexpr size_t alignment = 64;  // of the data, as NumPy writes it
  header.append(alignment - (magic.size() + 4 + header.size() + 1) % alignment, ' ');
  header += '\n';
  write_whole(path, [&](std::ostream& out) {
    out << magic << '\x01' << '\0' << char(header.size() & 255) << char(header.size() >> 8) << header;
    out.write(static_cast<const char*>(tensor.raw()), std::streamsize(tensor.bytes()));
  });
}

}  // namespace rungs
