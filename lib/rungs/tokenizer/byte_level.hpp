/// The alphabet in which byte-level tokenizer files write bytes: every byte is one printable character.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rungs {

/// Bytes as such a file writes them: " a" is "Ġa". GPT-2's table: a byte that is a printable character of Latin-1
/// stands for itself; the others, in order, are U+0100, U+0101, ...
std::string write_bytes(std::string_view bytes);

/// The bytes that such a file's token stands for; none when a character is not of the alphabet.
std::optional<std::string> read_bytes(std::string_view written);

}  // namespace rungs
