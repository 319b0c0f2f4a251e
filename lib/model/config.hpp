/// What config.json says of a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace rungs {

/// The shape of a decoder. Letters as in the glossary.
struct Config {
  std::string model_type;           ///< "rungs_decoder"
  int64_t context = 0;              ///< positions that the model knows: max_position_embeddings
  int64_t width = 0;                ///< C: hidden_size
  int64_t head_width = 0;           ///< D: head_dim
  int64_t inner_width = 0;          ///< F: intermediate_size
  int64_t layers = 0;               ///< L: num_hidden_layers
  int64_t vocabulary = 0;           ///< V: vocab_size
  float epsilon = 0;                ///< layer_norm_eps
  int32_t bos = -1, eos = -1;       ///< bos_token_id, eos_token_id; -1: the model has none
  std::filesystem::path directory;  ///< where it was read, for messages
};

/// Reads DIR/config.json. \throws FileError naming the field, what was wanted and what was found.
Config load_config(const std::filesystem::path& directory);

}  // namespace rungs
