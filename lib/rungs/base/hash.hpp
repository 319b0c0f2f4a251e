/// A hash of bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace rungs {

/// The same whoever compiles this: the FNV-1a of 64 bits (Fowler, Noll, Vo).
constexpr uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ uint8_t(byte)) * 0x100000001b3u;
  return hash;
}

}  // namespace rungs
