/// A model that was never trained, small enough to be made by each test.
#pragma once

#include <map>

#include "generate/random_decoder.hpp"
#include "rungs/base/file.hpp"
#include "rungs/checkpoint/safetensors.hpp"
#include "support.hpp"

namespace rungs::test {

/// 30 tokens: the specials, newline, space, a to t, five words and the period.
inline const char* const tiny_vocabulary =
    R"({"tokens": ["<bos>", "<eos>", "\n", " ", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n",)"
    R"( "o", "p", "q", "r", "s", "t", " the", " cat", " sat", " on", " mat", "."], "bos_token_id": 0, "eos_token_id": 1})";

/// A model directory with a context of 24 tokens, removed at the end.
struct TinyModel {
  Folder folder;
  std::filesystem::path path = folder.path();

  TinyModel() {
    Config c;
    c.max_seq_len = 24, c.hidden_size = 12, c.head_dim = 8, c.intermediate_size = 20, c.num_layers = 2,
    c.vocab_size = 30;
    c.epsilon = 1e-5f, c.bos = 0, c.eos = {1};
    save_random_decoder(path, c, 2);
    write_file(folder / "vocabulary.json", tiny_vocabulary);
  }

  /// Makes one weight NaN.
  void break_weight(const std::string& name) const {
    std::map<std::string, Tensor> tensors;
    {
      const SafeTensors file(folder / "model.safetensors");
      for (const std::string& each : file.names()) tensors.emplace(each, file.get(each).copy());
    }
    tensors.at(name).flat(0) = std::numeric_limits<float>::quiet_NaN();
    save_safetensors(folder / "model.safetensors", tensors);
  }
};

}  // namespace rungs::test
