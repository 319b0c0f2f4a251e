// The parts of a tokenizer.json that concern what comes out: "decoder" and "post_processor".
#include <fmt/format.h>

#include <cstdio>

#include "rungs/base/fields.hpp"
#include "rungs/tokenizer/byte_level.hpp"
#include "rungs/tokenizer/tokenizer_json.hpp"

namespace rungs {

using nlohmann::json;

static std::string byte_or_same(const std::string& token) {
  unsigned byte = 0;
  int length = 0;
  const bool is_byte = token.size() == 6 && std::sscanf(token.c_str(), "<0x%2X>%n", &byte, &length) == 1 && length == 6;
  return is_byte ? std::string(1, char(byte)) : token;
}

static std::string without_front(std::string_view text, const std::string& what, uint64_t times) {
  for (; times > 0 && !what.empty() && text.starts_with(what); --times) text.remove_prefix(what.size());
  return std::string(text);
}

void TokenizerJson::read_decoder(const json& description, const std::string& where, bool& fused) {
  const auto add = [&](auto step) { decode_steps_.emplace_back(std::move(step)); };
  if (description.is_null())  // the library then puts spaces between tokens
    return add([](const std::string& token, bool begins) { return begins ? token : " " + token; });
  const std::string type = Fields(description, where).text("type");
  if (type == "Sequence") {
    for (const json& part : Fields(description, where).list("decoders")) read_decoder(part, where, fused);
  } else if (type == "ByteLevel") {
    add([](const std::string& token, bool) { return read_bytes(token).value_or(token); });
  } else if (type == "ByteFallback") {
    add([](const std::string& token, bool) { return byte_or_same(token); });
  } else if (type == "Fuse") {
    fused = true;
  } else if (type == "Replace") {
    add([step = read_normalizer(description, where)](std::string token, bool) { return step(std::move(token)); });
  } else if (type == "Metaspace") {
    const std::string mark = Fields(description, where).text("replacement");
    const bool prepends = description.contains("prepend_scheme")
                              ? Fields(description, where).text("prepend_scheme") != "never"
                              : Fields(description, where).truth("add_prefix_space", true);
    const Matcher marks = read_pattern({{"String", mark}}, where);
    add([=](const std::string& token, bool begins) {
      std::string text;
      size_t done = 0;
      marks(token, [&](size_t begin, size_t end) {
        text.append(token, done, begin - done).append(begins && prepends ? "" : " ");
        done = end;
      });
      return text.append(token, done);
    });
  } else if (type == "Strip") {
    const json start = description.value("start", json(0)), stop = description.value("stop", json(0));
    if (!start.is_number_unsigned() || stop != 0)
      throw FileError(where + ": Strip: wanted a count at the start and none at the stop, found " + brief(description));
    add([what = Fields(description, where).text("content"), times = start.get<uint64_t>(), whole = fused](
            const std::string& token, bool begins) {
      return begins || !whole ? without_front(token, what, times) : token;
    });
  } else {
    throw unknown_type(where, type, "Sequence, ByteLevel, ByteFallback, Fuse, Replace, Metaspace, Strip");
  }
}

void TokenizerJson::read_template(const json& description, const std::string& where) {
  if (description.is_null()) return;
  const std::string type = Fields(description, where).text("type");
  if (type == "Sequence") {
    for (const json& part : Fields(description, where).list("processors")) read_template(part, where);
  } else if (type == "TemplateProcessing") {
    const json single = Fields(description, where).list("single");
    const json specials = description.value("special_tokens", json::object());
    begins_with_text_ = !single.empty() && single[0].is_object() && single[0].contains("Sequence");
    if (single.empty() || !single[0].is_object() || !single[0].contains("SpecialToken")) return;
    const std::string first = Fields(single[0]["SpecialToken"], where).text("id");
    const json special = specials.is_object() ? specials.value(first, json()) : json();
    const json ids = special.is_object() ? special.value("ids", json()) : json();
    if (!ids.is_array() || ids.size() != 1 || !ids[0].is_number_integer() || ids[0] < 0 || ids[0] >= size())
      throw FileError(fmt::format("{}: {} is no special token with one id", where, brief(first)));
    bos_ = ids[0].get<int32_t>();
  } else if (type != "ByteLevel") {  // which moves no token
    throw unknown_type(where, type, "Sequence, TemplateProcessing, ByteLevel");
  }
}

/// A template may name the token that begins a text, or say that none does; nothing names the one that ends it, but all
/// call it by these names.
void TokenizerJson::choose_ends() {
  for (const Added& added : added_) {
    for (const char* name : {"<s>", "<bos>", "<|begin_of_text|>"})
      if (!bos_ && !begins_with_text_ && added.special && added.text == name) bos_ = added.id;
    for (const char* name : {"</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"})
      if (!eos_ && added.special && added.text == name) eos_ = added.id;
  }
}

}  // namespace rungs
