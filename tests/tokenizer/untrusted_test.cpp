// Files and texts that were made to take for ever, or to reach what is not theirs.
#include <map>

#include "contains.hpp"
#include "rungs/base/json.hpp"
#include "rungs/tokenizer/longest_match.hpp"
#include "rungs/tokenizer/normalizer.hpp"
#include "rungs/tokenizer/split.hpp"
#include "rungs/tokenizer/tokenizer.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("tokenizer");

namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string refusal(const std::filesystem::path& path, const std::string& content) {
  try {
    load_tokenizer(write_file(path, content));
  } catch (const FileError& e) {
    return e.what();
  }
  return "it was read";
}

std::string json_with(const std::string& vocab, const std::string& more) {
  return R"({"model": {"type": "BPE", "vocab": )" + vocab + R"(, "merges": []})" + more + "}";
}

}  // namespace

TEST_CASE("the longest name with which a text begins is found, whatever the names have in common") {
  std::mt19937 random(3);
  const auto word = [&](size_t longest) {
    std::string text;
    for (size_t left = 1 + random() % longest; left > 0; --left) text += char("ab\0\xFF"[random() % 4]);
    return text;
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> words;
    std::map<std::string, int32_t> first;
    for (int i = 0; i < 40; ++i) first.emplace(words.emplace_back(word(12)), i);
    std::vector<LongestMatch::Name> names;
    for (const std::string& text : words) names.push_back({text, int32_t(names.size())});
    const LongestMatch match(names);
    CHECK(match.size() == first.size());
    for (int i = 0; i < 100; ++i) {
      const std::string text = word(20);
      int32_t want = -1;
      for (size_t length = text.size(); length > 0 && want < 0; --length)
        if (const auto found = first.find(text.substr(0, length)); found != first.end()) want = found->second;
      const LongestMatch::Name* got = match.find(text);
      CHECK((got ? got->id : -1) == want);
    }
    CHECK(match.find("") == nullptr);
  }
  CHECK(LongestMatch().find("a") == nullptr);
}

TEST_CASE("a hundred thousand marks on a letter are ordered as a few are") {
  const int n = 50000;
  const std::string grave = "\u0300", dot_below = "\u0323";  // of the classes 230 and 220
  const auto normal = [](const char* type, const std::string& text) {
    return read_normalizer({{"type", type}}, "test")(text);
  };
  for (const int count : {1, 3, n}) {
    const std::string marks = repeated(grave + dot_below, count);
    const std::string ordered = repeated(dot_below, count) + repeated(grave, count);
    CHECK(normal("NFD", "x" + marks + "a" + marks) == "x" + ordered + "a" + ordered);
    // a and a dot below compose; nothing composes with the second dot, which keeps the graves away
    const std::string rest = repeated(dot_below, count - 1) + repeated(grave, count);
    CHECK(normal("NFC", "a" + marks) == (count == 1 ? "\u1EA1" + grave : "\u1EA1" + rest));
  }
}

TEST_CASE("a token of which every cut would be looked up is refused") {
  const Folder folder;
  const auto field = [](char key, const std::string& value) {
    std::string text(1, key);
    for (size_t left = value.size();; left >>= 7) {
      text += char(left > 127 ? (left & 127) | 128 : left);
      if (left <= 127) return text + value;
    }
  };
  const std::string bpe = field(0x12, "\x18\x02"), unknown = field(0x0A, field(0x0A, "?") + "\x18\x02");
  const auto piece = [&](size_t length) { return field(0x0A, field(0x0A, std::string(length, 'a'))); };
  CHECK(refusal(folder / "tokenizer.model", bpe + unknown + piece(4097)) ==
        Contains("piece 1 has 4097 bytes; those of up to 4096 are read"));
  CHECK(refusal(folder / "tokenizer.model", bpe + unknown + piece(4096)) == "it was read");
  CHECK(refusal(folder / "tokenizer.tiktoken", repeated("AAAA", 1366) + " 0\n") ==
        Contains("line 1: the token has 4098 bytes; those of up to 4096 are read"));
}

TEST_CASE("ids far beyond the tokens there are, or no whole numbers, are refused before a list is made") {
  const Folder folder;
  CHECK(refusal(folder / "t.json", json_with(R"({"a": 16777215})", "")) ==
        Contains("\"a\": wanted an id from 0 to 65536, found 16777215"));
  CHECK(refusal(folder / "t.json", json_with(R"({"a": 1e300})", "")) == Contains("found 1e+300"));
  CHECK(refusal(folder / "t.json", json_with(R"({"a": 0})", R"(, "added_tokens": [{"content": "x", "id": 70000}])")) ==
        Contains("wanted an id from 0 to 65537, found 70000"));
}

TEST_CASE("a decoder that strips nothing for ever ends") {
  const Folder folder;
  for (const std::string start : {"9223372036854775807", "18446744073709551615"}) {
    const std::string strip = R"(, "decoder": {"type": "Strip", "content": "", "start": )" + start + ", \"stop\": 0}";
    const auto tokenizer = load_tokenizer(write_file(folder / "t.json", json_with(R"({"a": 0})", strip)));
    CHECK(tokenizer->decode(std::vector<int32_t>{0, 0}) == "aa");
  }
}

TEST_CASE("a template whose special token is no object names the file") {
  const Folder folder;
  const std::string processor =
      R"(, "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": 7}]})";
  const std::string says = refusal(folder / "t.json", json_with(R"({"a": 0})", processor));
  CHECK(says == Contains("t.json: post_processor: wanted an object, found number"));
}

TEST_CASE("matches never go back, whatever a pattern says of where they begin") {
  const std::string text(1000, 'a');
  try {
    size_t covered = 0;
    for (const std::string_view piece : split(text, Pattern(R"((?<=\Ka)a)"))) covered += piece.size();
    CHECK(covered == text.size());
  } catch (const UsageError& e) {  // a newer PCRE2 does not compile it
    CHECK(std::string(e.what()) == Contains("is no regular expression"));
  }
}

TEST_SUITE_END();
