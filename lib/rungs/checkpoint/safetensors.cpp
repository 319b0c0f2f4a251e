#include "rungs/checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "rungs/base/json.hpp"

namespace rungs {

using nlohmann::json;

namespace {

struct DataRange {
  size_t begin, end;  // bytes within the data
  std::string name;
};

std::optional<DType> parse_dtype(const std::string& name) {
  constexpr std::pair<std::string_view, DType> known[] = {{"F32", DType::f32},   {"F64", DType::f64},
                                                          {"BF16", DType::bf16}, {"F16", DType::f16},
                                                          {"I32", DType::i32},   {"I64", DType::i64}};
  for (const auto& [text, dtype] : known)
    if (text == name) return dtype;
  return std::nullopt;
}

json parse_header(std::string_view text, const std::string& file) {
  json header = parse_json(text, file + ": header", JsonKeys::once);
  if (!header.is_object())
    throw FileError(fmt::format("{}: header: wanted an object, found {}", file, header.type_name()));
  return header;
}

/// A header takes some hundred bytes a tensor; parsed, it takes twenty times its size.
constexpr uint64_t longest_header = 16 << 20;

}  // namespace

std::string_view safetensors_name(DType dtype) {
  constexpr std::string_view names[] = {"F32", "F64", "BF16", "F16", "I32", "I64"};
  return names[size_t(dtype)];
}

SafeTensors::SafeTensors(const std::filesystem::path& path) : TensorSet(path) {
  const std::string file = path.string();
  const std::span<const std::byte> bytes = keep(MappedFile(path)).bytes();
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes)
    throw FileError(fmt::format("{}: wanted a safetensors file, found {} bytes", file, bytes.size()));
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > bytes.size() - sizeof header_bytes)
    throw FileError(fmt::format("{}: header: it claims {} bytes, the file has {} left", file, header_bytes,
                                bytes.size() - sizeof header_bytes));
  if (header_bytes > longest_header)
    throw FileError(
        fmt::format("{}: header: it has {} bytes; those of up to {} are read", file, header_bytes, longest_header));
  const json header =
      parse_header({reinterpret_cast<const char*>(bytes.data()) + sizeof header_bytes, header_bytes}, file);
  const std::span<const std::byte> data = bytes.subspan(sizeof header_bytes + header_bytes);

  std::vector<DataRange> places;
  for (const auto& item : header.items()) {
    const std::string& name = item.key();
    const json& entry = item.value();
    if (name == "__metadata__") continue;
    const auto fail = [&](const std::string& what) { throw FileError(fmt::format("{}: {}: {}", file, name, what)); };
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets"))
      fail("wanted dtype, shape and data_offsets, found " + brief(entry));
    const json &shape_json = entry["shape"], &offsets = entry["data_offsets"], &dtype_json = entry["dtype"];
    const auto dtype = dtype_json.is_string() ? parse_dtype(dtype_json.get<std::string>()) : std::nullopt;
    if (!dtype) fail("dtype: wanted F32, F64, BF16, F16, I32 or I64, found " + brief(dtype_json));

    const auto is_size = [](const json& j) { return j.is_number_unsigned(); };
    if (!shape_json.is_array() || shape_json.size() > size_t(Shape::max_rank) ||
        !std::all_of(shape_json.begin(), shape_json.end(), is_size))
      fail("shape: wanted at most 4 whole numbers, found " + brief(shape_json));
    if (!offsets.is_array() || offsets.size() != 2 || !std::all_of(offsets.begin(), offsets.end(), is_size))
      fail("data_offsets: wanted two whole numbers, found " + brief(offsets));
    std::vector<int64_t> dims;
    for (const json& dim : shape_json) {
      const auto value = dim.get<uint64_t>();
      if (value > uint64_t(1) << 62) fail("shape: a dimension is too large: " + brief(shape_json));
      dims.push_back(int64_t(value));
    }
    Shape shape;
    try {
      shape = Shape(dims);
    } catch (const ShapeError& e) {
      fail(std::string("shape: ") + e.what());
    }
    const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
    if (begin > end || end > data.size())
      fail(fmt::format("data_offsets: [{}, {}] is outside the {} bytes of data", begin, end, data.size()));
    if ((end - begin) / bytes_of(*dtype) != uint64_t(shape.count()) || (end - begin) % bytes_of(*dtype) != 0)
      fail(fmt::format("shape {} of {} takes {} elements of {} bytes, data_offsets give {} bytes", to_string(shape),
                       dtype_json.get<std::string>(), shape.count(), bytes_of(*dtype), end - begin));
    places.push_back({begin, end, name});
    ConstTensor view = Tensor::view_of(data.data() + begin, shape, *dtype);
    const bool aligned = reinterpret_cast<uintptr_t>(view.raw()) % bytes_of(*dtype) == 0;
    if (aligned) {
      add(name, std::move(view), path);
    } else {  // legal, and some files have it: such a tensor is copied
      Tensor own = Tensor::uninitialised(shape, *dtype);
      std::memcpy(own.raw(), data.data() + begin, end - begin);
      add(name, std::move(own), path);
    }
  }
  std::sort(places.begin(), places.end(),
            [](const DataRange& a, const DataRange& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].begin < places[i - 1].end)
      throw FileError(fmt::format("{}: {} and {}: wanted tensors apart, found that they overlap at byte {} of the data",
                                  file, places[i - 1].name, places[i].name, places[i].begin));
}

void check_announced(const Tensor& made, const TensorToSave& announced) {
  if (made.shape() != announced.shape || made.dtype() != announced.dtype)
    throw ShapeError(fmt::format("{}: announced as {} {}, made as {} {}", announced.name, name_of(announced.dtype),
                                 to_string(announced.shape), name_of(made.dtype()), to_string(made.shape())));
}

void save_safetensors(const std::filesystem::path& path, std::vector<TensorToSave> tensors,
                      const std::function<void(int64_t bytes)>& on_written) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorToSave& a, const TensorToSave& b) { return a.name < b.name; });
  json header = {{"__metadata__", {{"format", "pt"}}}};  // without it transformers refuses the file
  size_t offset = 0;
  for (const TensorToSave& tensor : tensors) {
    json shape = json::array();
    for (int d = 0; d < tensor.shape.rank(); ++d) shape.push_back(tensor.shape[d]);
    const size_t bytes = size_t(tensor.shape.count()) * bytes_of(tensor.dtype);
    header[tensor.name] = {
        {"dtype", safetensors_name(tensor.dtype)}, {"shape", shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  constexpr size_t alignment = 64;  // a cache line, and the widest vector register
  while ((sizeof(uint64_t) + text.size()) % alignment != 0) text += ' ';
  const uint64_t size = text.size();
  write_whole(path, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(&size), sizeof size);
    out << text;
    for (const TensorToSave& announced : tensors) {
      const ConstTensor tensor = announced.make();
      check_announced(tensor, announced);
      out.write(static_cast<const char*>(tensor.raw()), std::streamsize(tensor.bytes()));
      if (on_written) on_written(int64_t(tensor.bytes()));
    }
  });
}

void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors) {
  std::vector<TensorToSave> list;
  for (const auto& [name, tensor] : tensors)
    list.push_back({name, tensor.shape(), tensor.dtype(), [&tensor = tensor] { return tensor.view(); }});
  save_safetensors(path, std::move(list));
}

}  // namespace rungs
