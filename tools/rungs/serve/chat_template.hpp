/// How a conversation becomes a prompt. Templates of models are programs in Jinja; four kinds of them, which most
/// models use, are recognized by the marks that they set, and written here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "protocol.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

/// `plain`: for a model without a template, or with one that is not known: "user: ...\nassistant:".
enum class ChatTemplate { plain, chatml, llama3, llama2, zephyr };

/// By what the template of tokenizer_config.json, chat_template.jinja or a .gguf holds.
ChatTemplate chat_template_of(const std::string& jinja);

/// The template that stands with a model; "": there is none. \throws FileError
std::string read_chat_template(const std::filesystem::path& model);

const char* name_of(ChatTemplate kind);

/// The tokens of a conversation, up to where the assistant speaks. Marks become special tokens; what people wrote does
/// not, whatever it spells. `bos`: in front, where it is 0 or more.
std::vector<int32_t> chat_tokens(ChatTemplate kind, const std::vector<ChatMessage>& messages,
                                 const Tokenizer& tokenizer, int32_t bos);

/// Tokens that end the assistant's turn besides the model's own.
std::vector<int32_t> chat_stops(ChatTemplate kind, const Tokenizer& tokenizer);
/// Text that does.
std::vector<std::string> chat_stop_texts(ChatTemplate kind);

}  // namespace rungs
