/// The alphabet in which byte-level tokenizer files write bytes: every byte is one printable character.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rungs {

/// The bytes that such a file's token stands for, " a" for "Ġa"; none when a character is not of the alphabet. GPT-2's
/// table: a byte that is a printable character of Latin-1 stands for itself; the others, in order, are U+0100, U+0101,
/// ...
std::optional<std::string> read_bytes(std::string_view written);

}  // namespace rungs
