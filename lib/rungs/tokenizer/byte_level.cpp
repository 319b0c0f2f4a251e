#include "rungs/tokenizer/byte_level.hpp"

#include <array>
#include <cstdint>

#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

namespace {

bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<int16_t, 0x144> byte{};  // of each code; -1: none

  Alphabet() {
    byte.fill(-1);
    size_t next = 0x100;
    for (int b = 0; b < 256; ++b) byte[stands_for_itself(b) ? size_t(b) : next++] = int16_t(b);
  }
};

const Alphabet& alphabet() {
  static const Alphabet table;
  return table;
}

}  // namespace

std::optional<std::string> read_bytes(std::string_view written) {
  std::string bytes;
  while (!written.empty()) {
    const Character c = first_character(written);
    if (!c.valid || c.code >= alphabet().byte.size() || alphabet().byte[c.code] < 0) return std::nullopt;
    bytes += char(alphabet().byte[c.code]);
    written.remove_prefix(c.length);
  }
  return bytes;
}

}  // namespace rungs
