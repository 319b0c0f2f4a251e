/// The few lines of Protocol Buffers that reading a file takes.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "rungs/base/error.hpp"

namespace rungs {

/// Goes through the fields of one message. Each throws FileError where the message ends too early.
class ProtobufFields {
 public:
  ProtobufFields(std::string_view message, const std::string& name) : left_(message), name_(name) {}

  /// Reads the next field; false at the end.
  bool next() {
    if (left_.empty()) return false;
    const uint64_t key = varint();
    field = int(key >> 3 & 0x1FFFFFFF);
    bytes = {};
    number = 0;
    switch (key & 7) {
      case 0:
        number = varint();
        break;
      case 1:
        bytes = take(8);
        break;
      case 2:
        bytes = take(varint());
        break;
      case 5:
        bytes = take(4);
        break;
      default:
        throw FileError(name_ + ": is no SentencePiece model: a field of an unknown type");
    }
    return true;
  }

  /// The value of a field of type float.
  float real() const {
    float value = 0;
    if (bytes.size() != 4) throw FileError(name_ + ": is no SentencePiece model: wanted a number of 4 bytes");
    std::memcpy(&value, bytes.data(), 4);
    return value;
  }

  int field = 0;           ///< its number
  uint64_t number = 0;     ///< its value, where that is a whole number
  std::string_view bytes;  ///< its value otherwise

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = uint8_t(take(1)[0]);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw FileError(name_ + ": is no SentencePiece model: a whole number without end");
  }

  std::string_view take(uint64_t count) {
    if (count > left_.size())
      throw FileError(fmt::format("{}: is cut short: wanted {} more bytes, found {}", name_, count, left_.size()));
    const std::string_view taken = left_.substr(0, size_t(count));
    left_.remove_prefix(size_t(count));
    return taken;
  }

  std::string_view left_;
  const std::string& name_;
};

}  // namespace rungs
