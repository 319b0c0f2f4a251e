/// Tensors by name, mapped from one file or several: what every kind of checkpoint comes down to.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "rungs/base/file.hpp"
#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// The tensors of a checkpoint. Most are views of mapped files and live as long as the set does.
class TensorSet {
 public:
  /// An empty set; `path` stands in the errors about tensors that it does not have.
  explicit TensorSet(std::filesystem::path path) : path_(std::move(path)) {}

  std::string path() const { return path_.string(); }
  std::vector<std::string> names() const;  ///< in alphabetical order
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  /// \throws FileError when there is none.
  const ConstTensor& get(const std::string& name) const;
  /// A view of a tensor that must have this shape and dtype. \throws FileError
  ConstTensor get(const std::string& name, const Shape& shape, DType dtype) const;
  /// A view of a weight that must have this shape, in f32, bf16 or f16; a matrix also quantized. \throws
  /// FileError
  ConstTensor get(const std::string& name, const Shape& shape) const;
  /// The file that holds a tensor. \throws FileError when there is none.
  std::string file_of(const std::string& name) const;

  /// Adds a tensor of a file. \throws FileError when there is one of that name.
  void add(const std::string& name, ConstTensor tensor, const std::filesystem::path& file);
  /// Keeps a file mapped for as long as the set lives.
  const MappedFile& keep(MappedFile file);
  /// Keeps the files of another set mapped, of whose tensors there are views here.
  void keep_files_of(TensorSet&& other);
  /// Whether these bytes are those of a file, not a copy.
  bool maps(const Tensor& tensor) const;
  /// Forgets all tensors, and unmaps whatever holds none of these bytes.
  void keep_only(const std::vector<std::span<const std::byte>>& parts);
  /// Takes over all tensors and files of another set. \throws FileError when a name is in both.
  void merge(TensorSet&& other);

 private:
  struct Entry {
    ConstTensor tensor;
    std::string file;
  };
  const Entry& find(const std::string& name) const;

  std::filesystem::path path_;
  std::vector<MappedFile> files_;
  std::map<std::string, Entry> tensors_;
};

}  // namespace rungs
