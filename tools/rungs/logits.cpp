// rungs logits: the logits of every token of a file.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "commands.hpp"
#include "engine.hpp"
#include "prompts.hpp"
#include "rungs/generate/nan_check.hpp"
#include "rungs/tensor/npy.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

namespace {

struct Tokens {
  Tensor ids;    // (B, T) i32
  bool batched;  // the file had two dimensions
};

/// The tokens of a file, checked against the model.
Tokens load_tokens(const std::string& path, const Config& config) {
  const auto fail = [&](const std::string& what) { throw FileError(path + ": " + what); };
  const Tensor file = load_npy(path);
  if (file.dtype() != DType::i32 && file.dtype() != DType::i64)
    fail(fmt::format("tokens: wanted i32 or i64, found {}", name_of(file.dtype())));
  if (file.shape().rank() != 1 && file.shape().rank() != 2)
    fail(fmt::format("tokens: wanted shape (T) or (B, T), found {}", to_string(file.shape())));
  if (file.count() == 0)
    fail(fmt::format("tokens: wanted at least one token, found shape {}", to_string(file.shape())));
  const int64_t T = file.cols(), B = file.rows();
  if (T > config.max_seq_len)
    fail(fmt::format("tokens: {} are more than the model's context of {}", T, config.max_seq_len));
  Tokens tokens{Tensor({B, T}, DType::i32), file.shape().rank() == 2};
  for (int64_t i = 0; i < file.count(); ++i) {
    const int64_t id = file.dtype() == DType::i32 ? file.data<int32_t>()[i] : file.data<int64_t>()[i];
    if (id < 0 || id >= config.vocab_size) {
      const std::string sequence = tokens.batched ? fmt::format("sequence {}, ", i / T) : "";
      fail(fmt::format("tokens: wanted ids in [0, {}), found {} at {}position {}", config.vocab_size, id, sequence,
                       i % T));
    }
    tokens.ids.data<int32_t>()[i] = int32_t(id);
  }
  return tokens;
}

/// BOS and the tokens of the text.
Tokens encode(const LogitsCommand& command, const Config& config) {
  const std::filesystem::path path = tokenizer_path(command.model, command.tokenizer);
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(path);
  check_vocabulary(*tokenizer, path, config);
  const std::vector<int32_t> ids =
      (command.text->empty() ? no_prompt(*tokenizer, config) : make_prompt(*tokenizer, config, *command.text)).tokens;
  const auto T = int64_t(ids.size());
  if (T > config.max_seq_len)
    throw UsageError(fmt::format("the text has {} tokens, more than the model's context of {}", T, config.max_seq_len));
  return {Tensor::view_of(ids.data(), {1, T}, DType::i32).copy(), false};
}

/// Rows of calls, put where they belong in a tensor of all tokens.
struct Gathered {
  int64_t B, T;
  std::map<std::string, Tensor> tensors;  // (B, T, columns)

  void add(const std::string& name, const float* rows, int64_t columns, const Batch& batch) {
    Tensor& all = tensors.try_emplace(name).first->second;
    if (!all) all = Tensor({B, T, columns});
    for (size_t n = 0; n < batch.token.size(); ++n)
      std::memcpy(all.data() + (int64_t(batch.sequence[n]) * T + batch.position[n]) * columns,
                  rows + int64_t(n) * columns, size_t(columns) * sizeof(float));
  }
};

/// As many dimensions as the tokens had: (T, columns) or (B, T, columns).
void save(const std::filesystem::path& path, const Tensor& tensor, bool batched) {
  save_npy(path, batched ? tensor.view() : tensor[0]);
}

}  // namespace

int write_logits(const LogitsCommand& command) {
  if (command.chunk < 0) throw UsageError(fmt::format("chunk: wanted at least 1 token, found {}", command.chunk));
  if (command.chunk > 0 && !command.cache) throw UsageError("chunk: without the cache all tokens are fed at once");
  if (command.tokens.empty() && !command.text) throw UsageError("--tokens or --text is required");
  const Config config = load_config(command.model);
  const Tokens tokens = command.text ? encode(command, config) : load_tokens(command.tokens, config);
  const int64_t B = tokens.ids.dim(0), T = tokens.ids.dim(1), V = config.vocab_size;
  const int64_t chunk = command.chunk ? std::min(command.chunk, T) : T;

  const Backend backend = backend_of(command.device);
  const std::unique_ptr<Model> model =
      load_model(backend, command.model, {.max_rows = B * chunk, .sequences = command.cache ? B : 0, .capacity = T});
  KvCache cache;
  if (command.cache) cache = KvCache(backend.device, config, B, T, command.cache_dtype);
  Gathered logits{B, T, {}}, taps{B, T, {}};
  std::vector<float> host, tapped;
  for (int64_t start = 0; start < T; start += chunk) {
    const int64_t count = std::min(chunk, T - start);
    Batch batch;
    for (int64_t b = 0; b < B; ++b)
      batch.add(int32_t(b), std::span(tokens.ids.data<int32_t>() + b * T + start, size_t(count)), start, false);
    if (!command.taps.empty())
      watch_taps([&](const std::string& name, const Tensor& tensor) {
        tapped.resize(size_t(tensor.count()));
        backend.device.download(tapped.data(), tensor);
        taps.add(name, tapped.data(), tensor.cols(), batch);
      });
    Tensor part = backend.device.allocate({batch.rows(), V});
    host.resize(size_t(part.count()));
    forward_finite(*model, host, part, batch, command.cache ? &cache : nullptr);
    logits.add("logits", host.data(), V, batch);
  }
  watch_taps({});

  if (!command.taps.empty()) {
    std::error_code error;
    std::filesystem::create_directories(command.taps, error);
    if (error) throw FileError(fmt::format("{}: cannot be made: {}", command.taps, error.message()));
    for (const auto& [name, tensor] : taps.tensors)
      save(std::filesystem::path(command.taps) / (name + ".npy"), tensor, tokens.batched);
  }
  save(command.out, logits.tensors.at("logits"), tokens.batched);
  return 0;
}

}  // namespace rungs
