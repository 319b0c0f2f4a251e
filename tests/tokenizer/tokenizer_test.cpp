#include "rungs/tokenizer/tokenizer.hpp"

#include <nlohmann/json.hpp>

#include "contains.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/tokenizer/gguf_tokenizer.hpp"
#include "rungs/tokenizer/utf8.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("tokenizer");

namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::filesystem::path tokenizers() { return weights_directory() / "tokenizers"; }

json reference_of(const std::string& name) {
  const std::filesystem::path path = weights_directory() / "references/tokenizers" / (name + ".json");
  return parse_json(read_text(path), path.string());
}

/// The libraries give text where tokens break characters; each replaces what is broken in its own way. Where they did,
/// all but the replacements must agree.
bool same_text(const std::string& got, const std::string& want) {
  const auto without = [](std::string text) {
    for (size_t at = 0; (at = text.find("\xEF\xBF\xBD", at)) != std::string::npos;) text.erase(at, 3);
    return text;
  };
  return got == want || (want.find("\xEF\xBF\xBD") != std::string::npos && without(valid_utf8(got)) == without(want));
}

void check_against(const Tokenizer& tokenizer, const std::string& reference) {
  CAPTURE(reference);
  const json cases = reference_of(reference);
  REQUIRE(cases["encode"].size() > 100);
  for (const json& c : cases["encode"]) {
    const std::string text = from_hex(c["bytes"]);
    CAPTURE(text);
    const std::vector<int32_t> ids = c["ids"];
    CHECK(tokenizer.encode(text) == ids);
    CHECK(same_text(tokenizer.decode(ids), from_hex(c["text"])));
    if (c.contains("specials"))
      CHECK(tokenizer.encode_with_specials(text) == c["specials"].get<std::vector<int32_t>>());
  }
  for (const json& c : cases["decode"]) {
    const std::vector<int32_t> ids = c["ids"];
    CAPTURE(c["ids"].dump());
    const std::string want = from_hex(c["text"]);
    // A run of byte tokens that is not UTF-8 as a whole is replaced as a whole by `tokenizers`: more than is broken.
    const bool loses = reference == "fallback" || reference == "metaspace";
    if (!loses || want.find("\xEF\xBF\xBD") == std::string::npos) CHECK(same_text(tokenizer.decode(ids), want));
  }
}

void check_real(const std::string& file, const std::string& reference) {
  const char* given = std::getenv("RUNGS_SHARED_DATA");
  const std::filesystem::path path =
      (given ? std::filesystem::path(given) : weights_directory() / "../../shared/data") / file;
  if (!std::filesystem::exists(path)) {
    MESSAGE("SKIPPED: there is no " << path.string() << "; name its folder in RUNGS_SHARED_DATA");
    return;
  }
  check_against(*load_tokenizer(path), reference);
}

}  // namespace

TEST_CASE("each kind of tokenizer gives the ids and the text of its reference library") {
  for (const std::string name :
       {"sentencepiece", "sentencepiece_plain", "tiktoken", "bytelevel", "gpt2", "fallback", "metaspace"})
    check_against(*load_tokenizer(tokenizers() / name), name);
}

/// The tokenizer "bytelevel", whose <mask> takes the spaces before it along, with one that does not.
static std::filesystem::path without_mask(const Folder& folder) {
  json file = parse_json(read_text(tokenizers() / "bytelevel/tokenizer.json"), "bytelevel");
  for (json& token : file["added_tokens"]) token["lstrip"] = token["rstrip"] = false;
  return write_file(folder / "tokenizer.json", file.dump());
}

TEST_CASE("a tokenizer in a GGUF file gives the ids of its reference library") {
  const Folder folder;
  save_gguf(folder / "sentencepiece.gguf", gguf_keys_of_tokenizer(tokenizers() / "sentencepiece"), {});
  check_against(*load_tokenizer(folder / "sentencepiece.gguf"), "sentencepiece");

  // Of the other kind there is a reference with a token that GGUF has no name for; without it, the file itself is one.
  save_gguf(folder / "bytelevel.gguf", gguf_keys_of_tokenizer(without_mask(folder)), {});
  const auto from_gguf = load_tokenizer(folder / "bytelevel.gguf"), from_json = load_tokenizer(without_mask(folder));
  const json reference = reference_of("bytelevel");
  for (const json& c : reference["encode"]) {
    const std::string text = from_hex(c["bytes"]);
    CAPTURE(text);
    CHECK(from_gguf->encode(text) == from_json->encode(text));
    CHECK(from_gguf->encode_with_specials(text) == from_json->encode_with_specials(text));
  }
  REQUIRE(from_gguf->size() == from_json->size());
  for (int32_t id = 0; id < from_json->size(); ++id) {
    CHECK(from_gguf->name_of(id) == from_json->name_of(id));
    CHECK(from_gguf->is_special(id) == from_json->is_special(id));
  }
}

TEST_CASE("a tokenizer that GGUF cannot hold, or a GGUF file without one, is a sentence") {
  const Folder folder;
  const auto refuses = [](const std::filesystem::path& path, const char* what) {
    CAPTURE(what);
    CHECK_THROWS_WITH_AS(gguf_keys_of_tokenizer(path), Contains(what), UsageError);
  };
  refuses(tokenizers() / "gpt2", "it has a normalizer, for which GGUF has no name");
  refuses(tokenizers() / "metaspace",
          "its pre_tokenizer is none of llama-bpe, gpt-2, smollm, for which GGUF has no name");
  refuses(tokenizers() / "bytelevel", "its token \"<mask>\" takes the spaces beside it along");
  refuses(tokenizers() / "tiktoken", "wanted a SentencePiece model or a tokenizer.json");
  refuses(weights_directory() / "decoder", "wanted a SentencePiece model or a tokenizer.json");

  const auto broken = [&](const std::vector<std::pair<std::string, GgufValue>>& changes, const char* what) {
    CAPTURE(what);
    auto keys = gguf_keys_of_tokenizer(without_mask(folder));
    for (const auto& [key, value] : changes)
      for (auto& k : keys)
        if (k.first == key) k.second = value;
    save_gguf(folder / "broken.gguf", keys, {});
    CHECK_THROWS_WITH_AS(load_tokenizer(folder / "broken.gguf"), Contains(what), FileError);
  };
  broken({{"tokenizer.ggml.model", std::string("t5")}}, "tokenizer.ggml.model: wanted llama or gpt2, found t5");
  broken({{"tokenizer.ggml.pre", std::string("qwen2")}},
         "tokenizer.ggml.pre: wanted one of llama-bpe, gpt-2, smollm, found qwen2");
  broken({{"tokenizer.ggml.token_type", std::vector<int64_t>{1, 2}}},
         "tokenizer.ggml.token_type: wanted 702, one for each token, found 2");
  broken({{"tokenizer.ggml.merges", std::vector<std::string>{"one"}}}, "merges: 0: wanted two tokens");
  broken({{"tokenizer.ggml.tokens", std::vector<std::string>{"a", "a"}},
          {"tokenizer.ggml.token_type", std::vector<int64_t>{1, 1}}},
         "tokenizer.ggml.tokens: wanted each token once, found \"a\" twice");
  save_gguf(folder / "none.gguf", {}, {});
  CHECK_THROWS_WITH_AS(load_tokenizer(folder / "none.gguf"),
                       Contains("tokenizer.ggml.model: wanted a text, found none"), FileError);
}

TEST_CASE("each part of a tokenizer.json does what the library does") {
  const Folder folder;
  for (const json& part : reference_of("parts")) {
    CAPTURE(part["part"].dump());
    const auto tokenizer = load_tokenizer(write_file(folder / "part.json", part["tokenizer"].dump()));
    for (const json& c : part["cases"]) {
      CAPTURE(c["text"].dump());
      const std::vector<int32_t> ids = c["ids"];
      CHECK(tokenizer->encode(c["text"].get<std::string>()) == ids);
      CHECK(tokenizer->decode(ids) == c["decoded"].get<std::string>());
    }
  }
}

TEST_CASE("a character that is a piece only together with others falls back on its bytes") {
  const Folder folder;
  const std::string model = read_text(tokenizers() / "sentencepiece/tokenizer.model");
  const auto whole = load_tokenizer(tokenizers() / "sentencepiece");
  // The piece "e" gets another name: longer ones that hold an e stay, and the letter alone is a byte.
  const std::string piece = std::string("\x0A\x01") + "e", other = std::string("\x0A\x01") + "\x7F";
  std::string changed = model;
  const size_t at = changed.find(piece);
  REQUIRE(at != std::string::npos);
  changed.replace(at, piece.size(), other);
  const auto without = load_tokenizer(write_file(folder / "tokenizer.model", changed));
  CHECK(without->encode("there") == whole->encode("there"));
  CHECK(without->name_of(without->encode("Ze").back()) == "e");
  CHECK(without->encode("Ze").back() == 3 + 'e');
  CHECK(without->decode(without->encode("eel e")) == "eel e");
}

TEST_CASE("the tokenizer of Llama 2 gives the ids of sentencepiece") { check_real("llama2.tokenizer.model", "llama2"); }

TEST_CASE("the tokenizer of Llama 3 gives the ids of tiktoken") { check_real("llama3.tokenizer.model", "llama3"); }

TEST_CASE("llama2.c's form of a SentencePiece model gives the same ids") {
  const auto one = load_tokenizer(tokenizers() / "sentencepiece/tokenizer.model");
  const auto other = load_tokenizer(tokenizers() / "sentencepiece/tokenizer.bin");
  CHECK(other->size() == one->size());
  CHECK(other->bos() == one->bos());
  CHECK(other->eos() == one->eos());
  const json reference = reference_of("sentencepiece");
  for (const json& c : reference["encode"]) {
    const std::string text = from_hex(c["bytes"]);
    if (text.find("\u2581") != std::string::npos) continue;  // for this form a character like any other
    CAPTURE(text);
    CHECK(other->encode(text) == one->encode(text));
  }
}

TEST_CASE("whatever is UTF-8 survives encoding and decoding") {
  for (const std::string name : {"sentencepiece", "tiktoken", "bytelevel", "fallback"}) {
    CAPTURE(name);
    const auto tokenizer = load_tokenizer(tokenizers() / name);
    const json reference = reference_of(name);
    for (const json& c : reference["encode"]) {
      const std::string text = from_hex(c["bytes"]);
      if (!is_utf8(text) || text.find("\u2581") != std::string::npos) continue;
      if (text.find("<mask>") != std::string::npos) continue;  // it takes the spaces around it
      CAPTURE(text);
      CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
    }
  }
}

TEST_CASE("tokenizers name their special tokens") {
  const auto bytelevel = load_tokenizer(tokenizers() / "bytelevel"), ranks = load_tokenizer(tokenizers() / "tiktoken");
  CHECK(bytelevel->bos() == 0);
  CHECK(bytelevel->eos() == 1);
  CHECK(bytelevel->name_of(0) == "<bos>");
  CHECK(bytelevel->bytes_of(0) == "");
  CHECK(bytelevel->is_special(2));
  CHECK(!bytelevel->is_special(3));
  CHECK(ranks->name_of(*ranks->bos()) == "<|begin_of_text|>");
  CHECK(ranks->name_of(*ranks->eos()) == "<|end_of_text|>");
  CHECK_THROWS_WITH_AS(ranks->bytes_of(int32_t(ranks->size())), Contains("is not in [0, "), UsageError);
  CHECK_THROWS_AS(ranks->decode(std::vector<int32_t>{-1}), UsageError);
  const auto fallback = load_tokenizer(tokenizers() / "fallback");
  CHECK(fallback->bos() == 1);
  CHECK(fallback->eos() == 2);
}

TEST_CASE("a word of a megabyte is merged as its parts are, and in no time") {
  for (const std::string name : {"sentencepiece", "tiktoken", "bytelevel", "fallback"}) {
    CAPTURE(name);
    const auto tokenizer = load_tokenizer(tokenizers() / name);
    const std::vector<int32_t> ids = tokenizer->encode(std::string(1 << 20, 'e'));
    CHECK(!ids.empty());
    CHECK(tokenizer->decode(ids).size() == 1 << 20);
  }
}

TEST_CASE("a stream shows only whole characters") {
  const auto shown = [](const std::vector<std::string>& parts) {
    Utf8Stream stream;
    std::string text;
    for (const std::string& part : parts) text += stream.add(part) + "|";
    return text + stream.flush();
  };
  CHECK(shown({"a", "\xE4", "\xBD", "\xA0", "b"}) == "a|||\u4f60|b|");
  CHECK(shown({"\xF0\x9F", "\x91\x8D!"}) == "|\U0001f44d!|");
  CHECK(shown({"\xF0\x9F", "x"}) == "|\uFFFDx|");
  CHECK(shown({"a\xE4\xBD"}) == "a|\uFFFD");
  CHECK(shown({"\xFF", "\x80"}) == "\uFFFD|\uFFFD|");
  CHECK(shown({"\xED\xA0\x80"}) == "\uFFFD\uFFFD\uFFFD|");
  CHECK(shown({"\xC3", "\xC3", "\xA9"}) == "|\uFFFD|\u00e9|");
  CHECK(shown({}) == "");
}

TEST_SUITE_END();
