/// The tokenizer in the metadata of a GGUF file: "llama" is a SentencePiece model, "gpt2" byte-level BPE.
#pragma once

#include <memory>
#include <utility>

#include "rungs/checkpoint/gguf.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

/// What tokenizer.ggml.model says where the file has none; llama.cpp reads such a file, too.
inline constexpr const char* no_gguf_tokenizer = "no_vocab";
/// Whether the file names a tokenizer, known or not.
bool has_tokenizer(const GgufMetadata& metadata);

/// \throws FileError naming the file and the key: there is no tokenizer, or one of a kind that is not known
std::unique_ptr<Tokenizer> tokenizer_of_gguf(const GgufMetadata& metadata, const std::string& file);

/// The keys that hold the tokenizer of a file or directory, as load_tokenizer() finds it.
/// \throws UsageError when GGUF has no name for what it does. FileError
std::vector<std::pair<std::string, GgufValue>> gguf_keys_of_tokenizer(const std::filesystem::path& file_or_directory);

/// The chat template of a Hugging Face folder: chat_template.jinja, else that of tokenizer_config.json, of several the
/// one called "default"; "": there is none. \throws FileError
std::string chat_template_in(const std::filesystem::path& directory);

}  // namespace rungs
