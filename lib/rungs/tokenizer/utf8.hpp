/// UTF-8: whole characters out of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rungs {

/// One character of a text.
struct Character {
  uint32_t code;
  uint8_t length;  ///< in bytes; 0 at the end of the text
  bool valid;
};
/// The first character of a text. What is not UTF-8 gives U+FFFD and the length of the part that is broken.
Character first_character(std::string_view text);

/// Appends a character.
void append_utf8(std::string& text, uint32_t code);

/// All of it is UTF-8.
bool is_utf8(std::string_view text);

/// The text with U+FFFD for each longest part that begins a character and does not go on as one, and for each byte
/// that begins none (Unicode 15, chapter 3.9, "U+FFFD Substitution of Maximal Subparts").
std::string valid_utf8(std::string_view text);

/// Gives only whole characters: bytes of tokens go in, text comes out. What is broken becomes U+FFFD.
class Utf8Stream {
 public:
  /// Every character that is whole now; the beginning of one waits for the rest of it.
  std::string add(std::string_view bytes);
  /// What still waits, when nothing more comes: U+FFFD, or "".
  std::string flush();

 private:
  std::string waiting_;
};

}  // namespace rungs
