/// Reads and writes .safetensors files: a JSON header that names tensors, and their raw bytes.
#pragma once

#include <functional>

#include "rungs/checkpoint/tensor_set.hpp"

namespace rungs {

/// An open file. Its tensors are views of the mapping and live as long as it does; one that stands at an address where
/// its elements could not be read is copied.
class SafeTensors : public TensorSet {
 public:
  /// Checks everything before anything is used. \throws FileError naming the file, the tensor, what was wanted and what
  /// was found: a header longer than the file or not JSON, an unknown dtype, a shape that does not match its bytes,
  /// offsets outside the file, tensors that overlap, a name that stands twice.
  explicit SafeTensors(const std::filesystem::path& path);
};

/// A tensor that is going to be written.
struct TensorToSave {
  std::string name;
  Shape shape;
  DType dtype;
  std::function<ConstTensor()>
      make;  ///< called when its turn comes, so that a large model is never in memory as a whole
};

/// \throws ShapeError when what was made is not what was announced
void check_announced(const Tensor& made, const TensorToSave& announced);

/// Writes tensors as one file, all or nothing, in the order of their names. `on_written` is told the bytes of each
/// tensor once they are out. \throws FileError; ShapeError when a tensor is not what was announced.
void save_safetensors(const std::filesystem::path& path, std::vector<TensorToSave> tensors,
                      const std::function<void(int64_t bytes)>& on_written = {});
/// The same of tensors that are in memory.
void save_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

/// "F32", ... as these files have it.
std::string_view safetensors_name(DType dtype);

}  // namespace rungs
