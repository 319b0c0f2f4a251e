/// What config.json says of a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rungs/model/rope.hpp"

namespace rungs {

/// The shape of a decoder. Letters as in the glossary.
struct Config {
  std::string model_type;           ///< "rungs_decoder" or "llama"
  int64_t max_seq_len = 0;          ///< context length, in tokens: max_position_embeddings
  int64_t hidden_size = 0;          ///< C
  int64_t num_heads = 1;            ///< H: num_attention_heads
  int64_t num_kv_heads = 1;         ///< G: num_key_value_heads; H is a multiple of it
  int64_t head_dim = 0;             ///< D
  int64_t intermediate_size = 0;    ///< F
  int64_t num_layers = 0;           ///< L: num_hidden_layers
  int64_t vocab_size = 0;           ///< V
  float epsilon = 0;                ///< layer_norm_eps or rms_norm_eps
  bool rotary = false;              ///< rotary positions instead of learned ones
  RopeConfig rope;                  ///< if rotary
  bool rms_norm = false;            ///< RMSNorm instead of LayerNorm
  bool gated = false;               ///< SwiGLU, and no biases, instead of ReLU
  bool tied = false;                ///< tie_word_embeddings: the output projection is the token embedding
  int32_t bos = -1;                 ///< bos_token_id; -1: the model has none
  std::vector<int32_t> eos;         ///< eos_token_id: a text ends with any of these
  std::filesystem::path directory;  ///< where it was read, or the llama2.c file: for messages

  bool is_llama() const { return model_type == "llama"; }  ///< otherwise the decoder of part I
  /// Positions that the engine can feed: the context length, with dynamic rope scaling no more than the original one.
  int64_t usable_context() const;
};

/// Reads DIR/config.json, in the form of any version of transformers, and what generation_config.json says of the end
/// of a text; or the header of a llama2.c file. \throws FileError naming the field, what was wanted and what was found.
Config load_config(const std::filesystem::path& directory_or_bin);

/// The path of a model names a file of llama2.c, not a directory.
bool is_llama2c(const std::filesystem::path& path);

}  // namespace rungs
