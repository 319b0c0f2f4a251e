/// Reads .safetensors files: a JSON header that names tensors, and their raw bytes, mapped into memory.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tensor/file.hpp"
#include "tensor/tensor.hpp"

namespace rungs {

/// An open file. Its tensors are views of the mapping and live as long as it does.
class SafeTensors {
 public:
  /// Checks everything before anything is used. \throws FileError naming the file, the tensor, what was wanted and what
  /// was found: a header longer than the file or not JSON, an unknown dtype, a shape that does not match its bytes,
  /// offsets outside the file, tensors that overlap, a name that stands twice.
  explicit SafeTensors(const std::filesystem::path& path);

  std::string path() const { return path_.string(); }
  const std::vector<std::string>& names() const { return names_; }  ///< in alphabetical order
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  /// \throws FileError when there is none.
  const Tensor& get(const std::string& name) const;
  /// A view of a tensor that must have this shape and dtype. \throws FileError
  Tensor get(const std::string& name, const Shape& shape, DType dtype) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::vector<std::string> names_;
  std::map<std::string, Tensor> tensors_;
};

/// Writes tensors as one file, all or nothing. \throws FileError
void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

}  // namespace rungs
