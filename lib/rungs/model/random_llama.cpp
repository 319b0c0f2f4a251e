#include "rungs/model/random_llama.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "rungs/checkpoint/safetensors.hpp"
#include "rungs/model/llama_layout.hpp"

namespace rungs {

/// The n-th number of a stream: Steele, Lea, Flood 2014, "Fast Splittable Pseudorandom Number Generators" (SplitMix64).
static uint64_t random_bits(uint64_t stream, uint64_t n) {
  uint64_t z = stream + (n + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// middle + spread · x, x uniform in (-1, 1) with 16 bits: more than enough for weights that nobody trained, and four
/// of them come from one draw.
static Tensor random_weight(const Shape& shape, DType dtype, float middle, float spread, uint64_t stream) {
  Tensor tensor = Tensor::uninitialised(shape, dtype);
  const int64_t count = tensor.count();
  const float step = spread * 0x1p-15f;
  const auto fill = [&](auto* out, auto round) {
    for (int64_t i = 0; i < count; i += 4) {
      const uint64_t bits = random_bits(stream, uint64_t(i));
      for (int64_t j = 0; j < 4 && i + j < count; ++j) {
        const float x = float(int16_t(bits >> 16 * j)) + 0.5f;
        const float scaled = step * x;  // rounded here, so that no compiler's fused product shows
        out[i + j] = round(middle == 0 ? scaled : float(double(middle) + double(scaled)));
      }
    }
  };
  if (dtype == DType::bf16)
    fill(tensor.data<bf16>(), [](float x) { return to_bf16(x); });
  else
    fill(tensor.data<float>(), [](float x) { return x; });
  return tensor;
}

/// "<unk>", "<bos>", "<eos>", newline, ASCII, then " aaaa", " baaa", ... until there are enough.
static nlohmann::json made_up_words(const Config& c) {
  nlohmann::json tokens = {"<unk>", "<bos>", "<eos>", "\n"};
  for (char letter = ' '; letter <= '~'; ++letter) tokens.push_back(std::string(1, letter));
  for (int64_t n = 0; int64_t(tokens.size()) < c.vocab_size; ++n) {
    std::string word = " ";
    int64_t left = n;
    for (int i = 0; i < 4; ++i, left /= 26) word += char('a' + left % 26);
    tokens.push_back(word);
  }
  return {{"tokens", tokens}, {"bos_token_id", c.bos}, {"eos_token_id", c.eos.at(0)}};
}

/// Writes a config.json, reads it and removes it, so that the bounds are the reader's own. The one that stays comes
/// last: a folder whose weights were never finished is no model.
static void check_readable(const std::filesystem::path& directory, const Config& config, DType dtype) {
  save_llama_config(directory, config, dtype);
  std::string refused;
  try {
    load_config(directory);
  } catch (const FileError& e) {
    refused = e.what();
  }
  std::filesystem::remove(directory / "config.json");
  if (!refused.empty()) throw UsageError(refused);
}

void save_random_llama(const std::filesystem::path& directory, const Config& config, DType dtype, uint64_t seed,
                       const std::function<void(int64_t bytes)>& on_written) {
  if (dtype != DType::f32 && dtype != DType::bf16) throw UsageError("random weights are f32 or bf16");
  check_readable(directory, config, dtype);
  std::vector<TensorToSave> tensors;
  for (const auto& [name, shape] : llama_tensors(config)) {
    const bool norm = shape.rank() == 1;
    const float spread = norm ? 0.1f : std::sqrt(3.0f / float(shape[-1]));  // a variance of 1 / in
    const uint64_t stream = random_bits(seed, tensors.size());
    tensors.push_back({name, shape, dtype, [shape = shape, dtype, norm, spread, stream] {
                         return random_weight(shape, dtype, norm ? 1 : 0, spread, stream);
                       }});
  }
  save_safetensors(directory / "model.safetensors", std::move(tensors), on_written);
  save_llama_config(directory, config, dtype);
  constexpr int64_t fixed = 4 + 95;  // tokens that every vocabulary has
  if (config.vocab_size >= fixed && config.bos == 1 && config.eos == std::vector<int32_t>{2})
    write_whole(directory / "vocabulary.json", [&](std::ostream& out) { out << made_up_words(config).dump() << '\n'; });
}

}  // namespace rungs
