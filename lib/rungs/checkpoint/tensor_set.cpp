#include "rungs/checkpoint/tensor_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace rungs {

std::vector<std::string> TensorSet::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensors_) names.push_back(name);
  return names;
}

const TensorSet::Entry& TensorSet::find(const std::string& name) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) throw FileError(fmt::format("{}: {}: wanted this tensor, found none", path(), name));
  return it->second;
}

const ConstTensor& TensorSet::get(const std::string& name) const { return find(name).tensor; }

std::string TensorSet::file_of(const std::string& name) const { return find(name).file; }

static void check_shape(const Tensor& tensor, const Shape& shape, const std::string& file, const std::string& name) {
  const Shape& found = tensor.shape();
  if (found == shape) return;
  const bool turned = found.rank() == 2 && shape.rank() == 2 && found[0] == shape[1] && found[1] == shape[0];
  throw FileError(fmt::format("{}: {}: wanted {}, found {}{}", file, name, to_string(shape), to_string(found),
                              turned ? "; stored transposed?" : ""));
}

ConstTensor TensorSet::get(const std::string& name, const Shape& shape, DType dtype) const {
  const auto& [tensor, file] = find(name);
  check_shape(tensor, shape, file, name);
  if (tensor.dtype() != dtype)
    throw FileError(fmt::format("{}: {}: wanted {}, found {}", file, name, name_of(dtype), name_of(tensor.dtype())));
  return tensor.view();
}

ConstTensor TensorSet::get(const std::string& name, const Shape& shape) const {
  const auto& [tensor, file] = find(name);
  check_shape(tensor, shape, file, name);
  const bool is_float = tensor.dtype() == DType::f32 || tensor.dtype() == DType::bf16 || tensor.dtype() == DType::f16;
  if (!is_float && !(shape.rank() == 2 && is_quantized(tensor.dtype())))
    throw FileError(fmt::format("{}: {}: wanted f32, bf16 or f16, found {}", file, name, name_of(tensor.dtype())));
  return tensor.view();
}

void TensorSet::add(const std::string& name, ConstTensor tensor, const std::filesystem::path& file) {
  const auto [it, is_new] = tensors_.try_emplace(name, Entry{std::move(tensor), file.string()});
  if (!is_new)
    throw FileError(fmt::format("{}: {}: wanted each tensor once, found it in {} too", file.string(), name,
                                it->second.file == file.string() ? "this file" : it->second.file));
}

const MappedFile& TensorSet::keep(MappedFile file) { return files_.emplace_back(std::move(file)); }

void TensorSet::keep_files_of(TensorSet&& other) {
  for (MappedFile& file : other.files_) keep(std::move(file));
}

bool TensorSet::maps(const Tensor& tensor) const {
  const auto* begin = static_cast<const std::byte*>(tensor.raw());
  return std::any_of(files_.begin(), files_.end(), [&](const MappedFile& file) {
    const auto bytes = file.bytes();
    return std::less_equal<>()(bytes.data(), begin) && std::less<>()(begin, bytes.data() + bytes.size());
  });
}

void TensorSet::keep_only(const std::vector<std::span<const std::byte>>& parts) {
  tensors_.clear();
  for (MappedFile& file : files_) file.keep_only(parts);
}

void TensorSet::merge(TensorSet&& other) {
  for (auto& [name, entry] : other.tensors_) add(name, std::move(entry.tensor), entry.file);
  keep_files_of(std::move(other));
}

}  // namespace rungs
