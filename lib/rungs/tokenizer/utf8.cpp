#include "rungs/tokenizer/utf8.hpp"

#include <algorithm>

namespace rungs {

namespace {

constexpr uint32_t replacement = 0xFFFD;

/// What the first byte says: how long the character is, and the range of its second byte, which excludes overlong
/// forms, surrogates, and what is above U+10FFFF.
struct Lead {
  uint8_t length;
  uint8_t low = 0x80, high = 0xBF;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {0};
  if (byte < 0xE0) return {2};
  if (byte < 0xF0) return {3, uint8_t(byte == 0xE0 ? 0xA0 : 0x80), uint8_t(byte == 0xED ? 0x9F : 0xBF)};
  if (byte < 0xF5) return {4, uint8_t(byte == 0xF0 ? 0x90 : 0x80), uint8_t(byte == 0xF4 ? 0x8F : 0xBF)};
  return {0};
}

/// How many bytes at the beginning of `text` go on as the character that `lead` began.
size_t good_bytes(std::string_view text, Lead lead) {
  size_t good = 1;
  for (; good < std::min<size_t>(lead.length, text.size()); ++good) {
    const auto byte = uint8_t(text[good]);
    if (byte < (good == 1 ? lead.low : 0x80) || byte > (good == 1 ? lead.high : 0xBF)) break;
  }
  return good;
}

}  // namespace

Character first_character(std::string_view text) {
  if (text.empty()) return {replacement, 0, false};
  const auto byte = uint8_t(text[0]);
  if (byte < 0x80) return {byte, 1, true};
  const Lead lead = lead_of(byte);
  const size_t good = good_bytes(text, lead);
  if (good != lead.length) return {replacement, uint8_t(good), false};
  uint32_t code = byte & (0x7Fu >> lead.length);
  for (size_t i = 1; i < good; ++i) code = code << 6 | (uint8_t(text[i]) & 0x3Fu);
  return {code, uint8_t(good), true};
}

void append_utf8(std::string& text, uint32_t code) {
  const auto put = [&](uint32_t byte) { text += char(byte); };
  const auto rest = [&](int shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), rest(0);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), rest(6), rest(0);
  } else {
    put(0xF0 | code >> 18), rest(12), rest(6), rest(0);
  }
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character c = first_character(text);
    if (!c.valid) return false;
    text.remove_prefix(c.length);
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    append_utf8(valid, c.code);
    text.remove_prefix(c.length);
  }
  return valid;
}

std::string Utf8Stream::add(std::string_view bytes) {
  waiting_ += bytes;
  // Only the last character can be incomplete: it begins in the last three bytes.
  size_t whole = waiting_.size();
  for (size_t back = 1; back <= std::min<size_t>(3, waiting_.size()); ++back) {
    const std::string_view tail = std::string_view(waiting_).substr(waiting_.size() - back);
    const Lead lead = lead_of(uint8_t(tail[0]));
    if (lead.length > back && good_bytes(tail, lead) == back) whole -= back;
  }
  std::string text = valid_utf8(std::string_view(waiting_).substr(0, whole));
  waiting_.erase(0, whole);
  return text;
}

std::string Utf8Stream::flush() {
  std::string text = valid_utf8(waiting_);
  waiting_.clear();
  return text;
}

}  // namespace rungs
