/// A LLaMA from one kind of file to another. Nothing is lost but what quantization and f16 round, and that is measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rungs/model/config.hpp"

namespace rungs {

/// What the copy shall be like.
struct ConvertOptions {
  std::optional<DType>
      dtype;            ///< of a directory's weights f32 or bf16, of a .gguf also f16, q8_0, q4_0; else as before
  int bin_version = 1;  ///< of a .bin: 0 or 1
};

/// A tensor whose values were rounded, by quantizing or to f16, and what became of them.
struct QuantizedTensor {
  std::string name;  ///< as the file has it
  DType dtype;
  int64_t count = 0;
  double sum_of_squares = 0;  ///< of the values
  double squared_error = 0;   ///< the sum of the squared differences
  double largest = 0, largest_error = 0;
};

/// What a person may want to know of a copy.
struct Converted {
  std::vector<QuantizedTensor> quantized;  ///< all that were quantized; in f16 those in which a value changed
  std::vector<std::string> kept;  ///< matrices that could not be quantized, as no block of 32 divides their rows
  std::string no_tokenizer;       ///< why a .gguf has none, or a .bin lost the model's; "": all is there
};

/// Whether a new model may be written into this folder, which need not be there yet. \throws UsageError when a model is
/// there, or the name ends in .gguf, .bin or .safetensors, so that it would be read as a file's
void check_new_folder(const std::filesystem::path& folder);

/// A folder to write into, made with those above it that are missing. Those of them in which nothing lies at the end
/// are gone again, so that a refusal leaves none.
class NewFolder {
 public:
  /// \throws FileError
  explicit NewFolder(const std::filesystem::path& path);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

 private:
  std::vector<std::filesystem::path> made_;  // from the innermost
};

/// Reads a directory, a .bin or a .gguf and writes, by the name that `to` ends in, a .gguf, a .bin of llama2.c, or a
/// directory with one model.safetensors. The tokenizer goes along, and but for a .bin the chat template. What quantizes
/// leaves the token embedding, the norms and what it cannot divide as they are. `on_start` is told how many bytes will
/// be written, `on_written` of each part. \throws UsageError when `to` exists, another model's tokenizer is in the
/// folder where this one's would go, or something would be lost: a value that the dtype cannot hold, or what a file of
/// this kind has no place for. FileError
Converted convert_llama(const std::filesystem::path& from, const std::filesystem::path& to,
                        const ConvertOptions& options, const std::function<void(int64_t bytes)>& on_start = {},
                        const std::function<void(int64_t bytes)>& on_written = {});

}  // namespace rungs
