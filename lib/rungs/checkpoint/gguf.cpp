#include "rungs/checkpoint/gguf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace rungs {

namespace {

constexpr uint32_t gguf_magic = 0x46554747;  // "GGUF"
constexpr int64_t no_limit = std::numeric_limits<int64_t>::max();

/// The types of metadata, as the file numbers them.
enum ValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

/// What the file calls the types of tensors that are read here.
struct TensorType {
  uint32_t id;
  const char* name;
  DType dtype;
};
constexpr TensorType tensor_types[] = {{0, "F32", DType::f32},    {1, "F16", DType::f16},   {30, "BF16", DType::bf16},
                                       {8, "Q8_0", DType::q8_0},  {2, "Q4_0", DType::q4_0}, {12, "Q4_K", DType::q4_k},
                                       {14, "Q6_K", DType::q6_k}, {26, "I32", DType::i32}};

/// Walks through a file and never leaves it.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  [[noreturn]] void fail(const std::string& what) const { throw FileError(fmt::format("{}: {}", file_, what)); }

  template <class T>
  T number(const std::string& what) {
    if (left() < sizeof(T)) fail(fmt::format("{}: wanted {} bytes, the file has {} left", what, sizeof(T), left()));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  /// A count of things that take at least so many bytes each.
  uint64_t count(const std::string& what, size_t least_bytes) {
    const auto value = number<uint64_t>(what);
    if (value > left() / least_bytes)
      fail(fmt::format("{}: wanted at most {}, as {} bytes are left, found {}", what, left() / least_bytes, left(),
                       value));
    return value;
  }
  std::string text(const std::string& what) {
    const uint64_t length = count(what + ": length", 1);
    std::string value(reinterpret_cast<const char*>(bytes_.data() + at_), length);
    at_ += length;
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string file_;
  size_t at_ = 0;
};

int64_t whole_of(Reader& in, uint32_t type, const std::string& key) {
  switch (type) {
    case u8:
      return in.number<uint8_t>(key);
    case i8:
      return in.number<int8_t>(key);
    case u16:
      return in.number<uint16_t>(key);
    case i16:
      return in.number<int16_t>(key);
    case u32:
      return in.number<uint32_t>(key);
    case i32:
      return in.number<int32_t>(key);
    case boolean:
      return in.number<uint8_t>(key) != 0;
    case i64:
      return in.number<int64_t>(key);
    default: {
      const auto value = in.number<uint64_t>(key);
      if (value > uint64_t(no_limit)) in.fail(fmt::format("{}: wanted less than 2^63, found {}", key, value));
      return int64_t(value);
    }
  }
}

bool is_whole(uint32_t type) { return type <= i32 || type == boolean || type == u64 || type == i64; }

double real_of(Reader& in, uint32_t type, const std::string& key) {
  return type == f32 ? double(in.number<float>(key)) : in.number<double>(key);
}

template <class T, class Read>
std::vector<T> list_of(Reader& in, const std::string& key, size_t least_bytes, const Read& read) {
  std::vector<T> list(in.count(key + ": length", least_bytes));
  for (T& element : list) element = read();
  return list;
}

GgufValue value_of(Reader& in, const std::string& key) {
  const auto type = in.number<uint32_t>(key + ": type");
  if (type == boolean) return in.number<uint8_t>(key) != 0;
  if (type == string) return in.text(key);
  if (type == f32 || type == f64) return real_of(in, type, key);
  if (is_whole(type)) return whole_of(in, type, key);
  if (type != array) in.fail(fmt::format("{}: type: wanted a number from 0 to 12, found {}", key, type));
  const auto element = in.number<uint32_t>(key + ": type of its elements");
  constexpr size_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};
  if (element > f64 || element == array)
    in.fail(fmt::format("{}: wanted a list of numbers or texts, found one of type {}", key, element));
  if (element == string) return list_of<std::string>(in, key, bytes[element], [&] { return in.text(key); });
  if (is_whole(element)) return list_of<int64_t>(in, key, bytes[element], [&] { return whole_of(in, element, key); });
  return list_of<double>(in, key, bytes[element], [&] { return real_of(in, element, key); });
}

struct Header {
  uint64_t tensors;
  GgufMetadata metadata;
};

Header read_header(Reader& in, const std::string& file) {
  if (in.left() < 24 || in.number<uint32_t>("magic") != gguf_magic) in.fail("wanted a GGUF file, found something else");
  const auto version = in.number<uint32_t>("version");
  if (version == 0x02000000 || version == 0x03000000) in.fail("wanted a little-endian file, found a big-endian one");
  if (version != 2 && version != 3) in.fail(fmt::format("version: wanted 2 or 3, found {}", version));
  Header h{in.count("number of tensors", 24), GgufMetadata(file)};
  for (uint64_t n = in.count("number of keys", 13); n > 0; --n) {
    const std::string key = in.text("a key");
    h.metadata.add(key, value_of(in, key));
  }
  return h;
}

/// A tensor as the file announces it.
struct TensorInfo {
  std::string name;
  Shape shape;
  DType dtype;
  uint64_t begin, end;  ///< in the data
};

DType dtype_of_id(const Reader& in, const std::string& name, uint32_t id) {
  std::string known;
  for (const TensorType& type : tensor_types) {
    if (type.id == id) return type.dtype;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", type.name);
  }
  in.fail(fmt::format("{}: type: wanted one of {}, found number {}", name, known, id));
}

TensorInfo read_tensor_info(Reader& in) {
  TensorInfo info;
  info.name = in.text("the name of a tensor");
  const auto rank = in.number<uint32_t>(info.name + ": dimensions");
  if (rank < 1 || rank > uint32_t(Shape::max_rank))
    in.fail(fmt::format("{}: wanted 1 to {} dimensions, found {}", info.name, Shape::max_rank, rank));
  int64_t dims[Shape::max_rank];
  for (uint32_t i = rank; i-- > 0;) {  // the file has the innermost first
    const auto dim = in.number<uint64_t>(info.name + ": dimensions");
    if (dim > uint64_t(no_limit)) in.fail(fmt::format("{}: wanted a dimension below 2^63, found {}", info.name, dim));
    dims[i] = int64_t(dim);
  }
  try {
    info.shape = Shape(std::span<const int64_t>(dims, rank));
  } catch (const ShapeError& e) {
    in.fail(fmt::format("{}: {}", info.name, e.what()));
  }
  info.dtype = dtype_of_id(in, info.name, in.number<uint32_t>(info.name + ": type"));
  if (const int64_t block = elements_of_block(info.dtype); info.shape[-1] % block != 0)
    in.fail(fmt::format("{}: wanted rows of whole blocks of {}, found rows of {}", info.name, block, info.shape[-1]));
  info.begin = in.number<uint64_t>(info.name + ": offset");
  return info;
}

/// Each must lie in the data of so many bytes, at a multiple of the alignment, and none over another.
void check_places(std::vector<TensorInfo>& tensors, uint64_t bytes, uint64_t alignment, const std::string& file) {
  for (TensorInfo& t : tensors) {
    const uint64_t size = bytes_of(t.dtype, t.shape.count());
    if (t.begin % alignment != 0)
      throw FileError(
          fmt::format("{}: {}: offset: wanted a multiple of {}, found {}", file, t.name, alignment, t.begin));
    if (t.begin > bytes || size > bytes - t.begin)
      throw FileError(fmt::format("{}: {}: wanted {} bytes from {} on, the file has {} bytes of data", file, t.name,
                                  size, t.begin, bytes));
    t.end = t.begin + size;
  }
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& t : tensors)
    if (t.end > t.begin) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) { return a->begin < b->begin; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->begin < order[i - 1]->end)
      throw FileError(fmt::format("{}: {}: wanted tensors that do not overlap, found it over {}", file, order[i]->name,
                                  order[i - 1]->name));
}

}  // namespace

void GgufMetadata::fail(const std::string& key, const std::string& wanted, const std::string& found) const {
  throw FileError(fmt::format("{}: {}: wanted {}, found {}", file_, key, wanted, found));
}

void GgufMetadata::add(const std::string& key, GgufValue&& value) {
  if (!values_.try_emplace(key, std::move(value)).second) fail(key, "each key once", "it twice");
}

template <class T>
const T& GgufMetadata::get(const std::string& key, const char* wanted) const {
  const auto it = values_.find(key);
  if (it == values_.end()) fail(key, wanted, "none");
  if (const T* value = std::get_if<T>(&it->second)) return *value;
  fail(key, wanted, "something else");
}

int64_t GgufMetadata::whole(const std::string& key, int64_t least, int64_t most) const {
  const int64_t value = get<int64_t>(key, "a whole number");
  if (value < least || value > most)
    fail(key, fmt::format("a number from {} to {}", least, most), fmt::to_string(value));
  return value;
}

double GgufMetadata::number(const std::string& key, double above, double most) const {
  const double value = get<double>(key, "a number");
  if (!(value > above && value <= most))
    fail(key, fmt::format("a number above {}, up to {}", above, most), fmt::to_string(value));
  return value;
}

bool GgufMetadata::truth(const std::string& key, bool otherwise) const {
  return has(key) ? get<bool>(key, "true or false") : otherwise;
}

const std::string& GgufMetadata::text(const std::string& key) const { return get<std::string>(key, "a text"); }
const std::vector<std::string>& GgufMetadata::texts(const std::string& key) const {
  return get<std::vector<std::string>>(key, "a list of texts");
}
const std::vector<double>& GgufMetadata::numbers(const std::string& key) const {
  return get<std::vector<double>>(key, "a list of numbers");
}
const std::vector<int64_t>& GgufMetadata::wholes(const std::string& key) const {
  return get<std::vector<int64_t>>(key, "a list of whole numbers");
}

GgufMetadata read_gguf_metadata(const std::filesystem::path& path) {
  const MappedFile file(path);
  Reader in(file.bytes(), path.string());
  return read_header(in, path.string()).metadata;
}

Gguf open_gguf(const std::filesystem::path& path) {
  TensorSet set(path);
  const std::span<const std::byte> bytes = set.keep(MappedFile(path)).bytes();
  Reader in(bytes, path.string());
  Header header = read_header(in, path.string());
  std::vector<TensorInfo> tensors;
  for (uint64_t i = 0; i < header.tensors; ++i) tensors.push_back(read_tensor_info(in));

  constexpr const char* key = "general.alignment";
  const auto alignment = header.metadata.has(key) ? uint64_t(header.metadata.whole(key, 1, 1 << 20)) : 32;
  if ((alignment & (alignment - 1)) != 0) header.metadata.fail(key, "a power of two", fmt::to_string(alignment));
  const uint64_t begin = std::min<uint64_t>(bytes.size(), (in.at() + alignment - 1) / alignment * alignment);
  check_places(tensors, bytes.size() - begin, alignment, path.string());
  for (const TensorInfo& t : tensors) {
    // A file is mapped at the beginning of a page, and the alignment of a block is that of its scale.
    const std::byte* data = bytes.data() + begin + t.begin;
    const size_t element = is_quantized(t.dtype) ? alignof(q8_0) : bytes_of(t.dtype);
    ConstTensor view = Tensor::view_of(static_cast<const void*>(data), t.shape, t.dtype);
    set.add(t.name, reinterpret_cast<uintptr_t>(data) % element == 0 ? std::move(view) : ConstTensor(view.copy()),
            path);
  }
  return {std::move(header.metadata), std::move(set)};
}

namespace {

/// Puts a file's header together.
struct Writer {
  std::string bytes;

  template <class T>
  void number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number(uint64_t(value.size()));
    bytes += value;
  }
  template <class T, class Each>
  void list(ValueType type, const std::vector<T>& values, const Each& each) {
    number(uint32_t(array)), number(uint32_t(type)), number(uint64_t(values.size()));
    for (const T& value : values) each(value);
  }

  void value(int64_t value) {
    const bool fits = value == int64_t(uint32_t(value));
    number(uint32_t(fits ? u32 : i64));
    fits ? number(uint32_t(value)) : number(value);
  }
  void value(double value) { number(uint32_t(f32)), number(float(value)); }
  void value(bool value) { number(uint32_t(boolean)), number(uint8_t(value)); }
  void value(const std::string& value) { number(uint32_t(string)), text(value); }
  void value(const std::vector<int64_t>& values) {
    list(i32, values, [this](int64_t v) { number(int32_t(v)); });
  }
  void value(const std::vector<double>& values) {
    list(f32, values, [this](double v) { number(float(v)); });
  }
  void value(const std::vector<std::string>& values) {
    list(string, values, [this](const std::string& v) { text(v); });
  }
};

constexpr size_t alignment = 32;
size_t aligned(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

uint32_t id_of(DType dtype) {
  for (const TensorType& type : tensor_types)
    if (type.dtype == dtype) return type.id;
  throw ShapeError(fmt::format("a GGUF file has no tensors of {}", name_of(dtype)));
}

}  // namespace

void save_gguf(const std::filesystem::path& path, const std::vector<std::pair<std::string, GgufValue>>& metadata,
               const std::vector<TensorToSave>& tensors, const std::function<void(int64_t bytes)>& on_written) {
  Writer header;
  header.number(gguf_magic), header.number(uint32_t(3));
  header.number(uint64_t(tensors.size())), header.number(uint64_t(metadata.size()));
  for (const auto& [key, value] : metadata) {
    header.text(key);
    std::visit([&](const auto& v) { header.value(v); }, value);
  }
  size_t offset = 0;
  for (const TensorToSave& t : tensors) {
    header.text(t.name);
    header.number(uint32_t(t.shape.rank()));
    for (int d = t.shape.rank(); d-- > 0;) header.number(uint64_t(t.shape[d]));  // the innermost first
    header.number(id_of(t.dtype)), header.number(uint64_t(offset));
    offset = aligned(offset + bytes_of(t.dtype, t.shape.count()));
  }
  header.bytes.resize(aligned(header.bytes.size()));
  write_whole(path, [&](std::ostream& out) {
    out << header.bytes;
    for (const TensorToSave& announced : tensors) {
      const ConstTensor tensor = announced.make();
      check_announced(tensor, announced);
      out.write(static_cast<const char*>(tensor.raw()), std::streamsize(tensor.bytes()));
      out << std::string(aligned(tensor.bytes()) - tensor.bytes(), '\0');
      if (on_written) on_written(int64_t(tensor.bytes()));
    }
  });
}

}  // namespace rungs
