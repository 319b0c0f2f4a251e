/// GGUF, the files of llama.cpp: metadata by name, the tokenizer among it, then tensors, some of them quantized.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "rungs/checkpoint/safetensors.hpp"
#include "rungs/checkpoint/tensor_set.hpp"

namespace rungs {

/// A value of the metadata. Integers of every size are int64_t, floats double.
using GgufValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>>;

/// The metadata of a file, by name: "llama.block_count".
class GgufMetadata {
 public:
  explicit GgufMetadata(std::string file) : file_(std::move(file)) {}

  bool has(const std::string& key) const { return values_.count(key) != 0; }
  /// \throws FileError when it is missing (unless `otherwise` says what then), is of another kind, or out of range
  ///@{
  int64_t whole(const std::string& key, int64_t least, int64_t most) const;
  double number(const std::string& key, double above, double most) const;
  const std::string& text(const std::string& key) const;
  bool truth(const std::string& key, bool otherwise) const;
  const std::vector<std::string>& texts(const std::string& key) const;
  const std::vector<double>& numbers(const std::string& key) const;
  const std::vector<int64_t>& wholes(const std::string& key) const;
  ///@}
  /// \throws FileError that names the file and the key
  [[noreturn]] void fail(const std::string& key, const std::string& wanted, const std::string& found) const;
  /// \throws FileError for a key that is there already
  void add(const std::string& key, GgufValue&& value);
  const std::map<std::string, GgufValue>& all() const { return values_; }

 private:
  template <class T>
  const T& get(const std::string& key, const char* wanted) const;
  std::string file_;
  std::map<std::string, GgufValue> values_;
};

/// An open file: its tensors are views of the mapping, by the names that the file has, dimensions outermost first.
struct Gguf {
  GgufMetadata metadata;
  TensorSet tensors;
};

/// \throws FileError naming the file, the field, what was wanted and what was found: no GGUF, another version,
/// big-endian, counts or lengths beyond the end of the file, a key or a tensor that stands twice, a type that is not
/// known, tensors that overlap or lie outside.
Gguf open_gguf(const std::filesystem::path& path);

/// The metadata alone; reads as far as that goes.
GgufMetadata read_gguf_metadata(const std::filesystem::path& path);

/// Writes a file of version 3, all or nothing: the keys in this order, then the tensors. Whole numbers become u32 where
/// they fit, reals f32, lists i32 and f32. `on_written` is told the bytes of each tensor once they are out.
/// \throws FileError; ShapeError when a tensor is not what was announced
void save_gguf(const std::filesystem::path& path, const std::vector<std::pair<std::string, GgufValue>>& metadata,
               const std::vector<TensorToSave>& tensors, const std::function<void(int64_t bytes)>& on_written = {});

}  // namespace rungs
