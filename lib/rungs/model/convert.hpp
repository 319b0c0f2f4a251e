/// A LLaMA from one kind of file to another, where nothing is lost.
#pragma once

#include <functional>
#include <optional>

#include "rungs/model/config.hpp"

namespace rungs {

/// What the copy shall be like.
struct ConvertOptions {
  std::optional<DType> dtype;  ///< of a directory's weights: f32 or bf16; otherwise as they are
  int bin_version = 1;         ///< of a .bin: 0 or 1
};

/// Reads a directory or a .bin and writes a directory with one model.safetensors, or, when `to` ends in .bin, a file of
/// llama2.c. Tokenizer files go along. `on_start` is told how many bytes will be written, `on_written` of each part.
/// \throws UsageError when `to` exists, or would lose something: a value that the dtype cannot hold, or what a .bin has
/// no place for. FileError
void convert_llama(const std::filesystem::path& from, const std::filesystem::path& to, const ConvertOptions& options,
                   const std::function<void(int64_t bytes)>& on_start = {},
                   const std::function<void(int64_t bytes)>& on_written = {});

}  // namespace rungs
