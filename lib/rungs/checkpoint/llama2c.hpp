/// llama2.c's .bin files: a header of seven numbers, then every weight in a fixed order.
#pragma once

#include <functional>

#include "rungs/checkpoint/tensor_set.hpp"

namespace rungs {

/// What the header of a .bin file says.
struct Llama2cHeader {
  int version = 0;                                              ///< 0: no magic number, f32; 1: f32; 2: int8 in groups
  int64_t hidden_size = 0, intermediate_size = 0;               ///< C, F
  int64_t num_layers = 0, num_heads = 0;                        ///< L, H
  int64_t num_kv_heads = 0;                                     ///< G
  int64_t vocab_size = 0, max_seq_len = 0;                      ///< V, positions
  bool tied = true;                                             ///< the output projection is the token embedding
  int64_t group = 0;                                            ///< version 2: elements that share a scale
  int64_t head_dim() const { return hidden_size / num_heads; }  ///< D
};

/// Reads and checks the header of a file. \throws FileError for an unknown version, numbers out of range, and head
/// counts that do not divide.
Llama2cHeader read_llama2c_header(const std::filesystem::path& path);

/// Opens a .bin file under the names of Hugging Face. Weights are views of the mapping, but for two kinds: those of q
/// and k are copied into the halves layout (pair i of a head is rows i and i + D/2; the file has them interleaved, rows
/// 2i and 2i + 1), and the int8 of version 2 become f32. \throws FileError also when the file is shorter or longer than
/// its header promises.
TensorSet open_llama2c(const std::filesystem::path& path);

/// Writes version 0 or 1 of a model whose f32 tensors `take` gives by the names of Hugging Face. `on_written` is told
/// the bytes of each part. \throws FileError
void save_llama2c(const std::filesystem::path& path, const Llama2cHeader& header,
                  const std::function<ConstTensor(const std::string& name)>& take,
                  const std::function<void(int64_t bytes)>& on_written = {});

}  // namespace rungs
