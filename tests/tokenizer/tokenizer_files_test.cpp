#include <algorithm>

#include "contains.hpp"
#include "rungs/base/file.hpp"
#include "rungs/tokenizer/split.hpp"
#include "rungs/tokenizer/tokenizer.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("tokenizer");

namespace {

std::string file_of(const std::string& name) { return read_text(weights_directory() / "tokenizers" / name); }

struct Refused {
  Folder folder;
  /// A file of this name and content must be refused with a sentence that holds this part, and names the file.
  void operator()(const std::string& name, const std::string& content, const std::string& part) const {
    const std::filesystem::path path = write_file(folder / name, content);
    CAPTURE(part);
    try {
      load_tokenizer(path);
      FAIL_CHECK("it was read");
    } catch (const FileError& e) {
      const std::string says = e.what();
      CHECK(says.starts_with(path.string() + ": "));
      CHECK(says == Contains(part.c_str()));
    }
  }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Truncations and changed bytes must be read or refused; anything else ends the program.
void damage(const std::string& name) {
  const Folder folder;
  const std::string whole = file_of(name);
  const std::filesystem::path path = folder / std::filesystem::path(name).filename().string();
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    std::string broken = whole;
    if (i % 2)
      broken.resize(random() % whole.size());
    else
      for (int flips = 0; flips < 3; ++flips) broken[random() % broken.size()] ^= char(1u << random() % 8);
    write_file(path, broken);
    try {
      const auto tokenizer = load_tokenizer(path);
      tokenizer->decode(tokenizer->encode("It's a caf\u00e9, \u4f60\u597d 123"));
    } catch (const FileError&) {
    } catch (const UsageError&) {
    }
  }
}

}  // namespace

TEST_CASE("damaged tokenizer files never end the program") {
  for (const std::string name : {"sentencepiece/tokenizer.model", "sentencepiece/tokenizer.bin",
                                 "tiktoken/tokenizer.model", "bytelevel/tokenizer.json", "fallback/tokenizer.json"})
    damage(name);
}

TEST_CASE("a path without a tokenizer is refused") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(load_tokenizer(folder.path()), Contains("wanted tokenizer.json, tokenizer.model"), FileError);
  CHECK_THROWS_WITH_AS(load_tokenizer(folder / "none.json"), Contains("cannot be opened"), FileError);
  CHECK_THROWS_WITH_AS(load_tokenizer(write_file(folder / "x.txt", "a")), Contains("ends in .json, .model"), FileError);
}

TEST_CASE("a broken file of ranks is refused, naming the line") {
  const Refused refused;
  const std::string good = file_of("tiktoken/tokenizer.model"), name = "tokenizer.model";
  refused("t.tiktoken", "", "wanted a token a line, found an empty file");
  refused(name, replaced(good, " 5\n", " 6\n"), "line 6: wanted rank 5, found 6");
  refused(name, replaced(good, " 5\n", " 5x\n"), "line 6: wanted a rank after the space");
  refused(name, replaced(good, " 5\n", "\n"), "line 6: wanted base64, a space and a rank");
  refused(name, replaced(good, "AQ== 1\n", "AQ=? 1\n"), "line 2: wanted a token in base64");
  refused(name, replaced(good, "AQ== 1\n", "AA== 1\n"), "lines 1 and 2 hold the same token");
  refused(name, "IQ== 0\nIg== 1\n", "there is no token for byte 0x00");
}

TEST_CASE("a broken SentencePiece model is refused") {
  const Refused refused;
  const std::string good = file_of("sentencepiece/tokenizer.model"), name = "tokenizer.model";
  refused(name, good.substr(0, 1000), "is cut short: wanted ");
  refused(name, "", "its type is Unigram; known is BPE");
  refused(name, replaced(good, "<0x0A>", "<0x0Z>"), "is to be a byte, and is \"<0x0Z>\"");
  refused(name, replaced(good, "<0x0A>", "<0x0B>"), "there is no piece for byte 0x0A");
  const auto field = [](char key, const std::string& value) { return std::string{key, char(value.size())} + value; };
  const std::string bpe = field(0x12, "\x18\x02"), unknown = field(0x0A, field(0x0A, "?") + "\x18\x02");
  const auto normal = [&](const std::string& text) { return field(0x0A, field(0x0A, text)); };
  refused(name, bpe, "no piece stands for the unknown");
  refused(name, bpe + unknown + unknown, "pieces 0 and 1 both stand for the unknown");
  refused(name, bpe + unknown + normal("a") + normal("a"), "pieces 1 and 2 are both \"a\"");
  refused(name, bpe + unknown + normal(""), "piece 1 is empty");
  refused(name, bpe + unknown + normal("\xFF"), "piece 1 is not UTF-8");
  refused(name, bpe + unknown + field(0x0A, field(0x0A, "a") + "\x18\x05"),
          "piece 1 is of kind 5; known are 1 to 4 and 6");
  refused(name, field(0x12, "\x18\x01") + unknown, "its type is Unigram; known is BPE");
  refused(name, bpe + unknown + field(0x1A, field(0x0A, "nmt_nfkc") + field(0x12, "abc")),
          "its normalizer is nmt_nfkc; known is identity");
  refused(name, std::string("\x0B\x01", 2), "a field of an unknown type");
  refused(name, std::string("\x08") + std::string(11, '\xFF'), "a whole number without end");
}

TEST_CASE("a broken tokenizer.bin is refused") {
  const Refused refused;
  const std::string good = file_of("sentencepiece/tokenizer.bin"), name = "tokenizer.bin";
  refused(name, "", "token 0 is cut short");
  refused(name, good.substr(0, good.size() - 1), "is cut short: wanted ");
  refused(name, bytes(int32_t(9)) + bytes(0.0f) + bytes(int32_t(-2)), "token 0 has -2 bytes");
  refused(name, bytes(int32_t(9)) + bytes(0.0f) + bytes(int32_t(2000000000)),
          "token 0 is cut short: wanted 2000000000");
}

TEST_CASE("a tokenizer.json says what it does not know, and what is known") {
  const Refused refused;
  const auto says = [&](const std::string& content, const std::string& part) { refused("t.json", content, part); };
  const auto model = [](const std::string& more) { return R"({"model": {"type": "BPE", )" + more + "}}"; };
  const auto with = [](const std::string& more) {
    return R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, )" + more + "}";
  };
  says("[1]", "wanted an object, found array");
  says("{", "is not JSON");
  says(std::string(100000, '['), "is nested more than 32 deep");
  says("{}", "model: wanted an object, found null");
  says(R"({"model": {"type": "Unigram"}})", "model: Unigram is not known; known are BPE");
  says(model(R"("merges": [])"), "vocab: wanted tokens and their ids, found null");
  says(model(R"("vocab": {"a": -1}, "merges": [])"), "vocab: \"a\": wanted an id from 0 to 65536, found -1");
  says(model(R"("vocab": {"a": 4000000000}, "merges": [])"), "wanted an id from 0 to 65536, found 4000000000");
  says(model(R"("vocab": {"a": 0, "b": 0}, "merges": [])"), "\"a\" and \"b\" both have the id 0");
  says(model(R"("vocab": {"a": 0}, "merges": ["a b"])"), "merges: 0: \"b\" is no token of vocab");
  says(model(R"("vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]])"), "merges: 0: \"ab\" is no token of vocab");
  says(model(R"("vocab": {"a": 0}, "merges": ["a"])"), "merges: 0: wanted two tokens, found \"a\"");
  says(model(R"("vocab": {"a": 0}, "merges": [7])"), "merges: 0: wanted two tokens, found 7");
  says(model(R"("vocab": {"a": 0})"), "merges: wanted a list, found none");
  says(model(R"("vocab": {"a": 0}, "merges": [], "dropout": 0.1)"), "dropout: wanted none, found 0.1");
  says(model(R"("vocab": {"a": 0}, "merges": [], "unk_token": "u")"), "unk_token: \"u\" is no token of vocab");
  says(model(R"("vocab": {"a": 0}, "merges": [], "byte_fallback": 3)"), "byte_fallback: wanted true or false, found 3");
  says(model(R"("vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "x")"),
       "end_of_word_suffix: wanted none, found \"x\"");
  says(with(R"("normalizer": {"type": "Nmt"})"), "normalizer: Nmt is not known; known are Sequence, Prepend");
  says(with(R"("pre_tokenizer": {"type": "Whitespace"})"),
       "pre_tokenizer: Whitespace is not known; known are Sequence, ByteLevel");
  says(with(R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "("}})"),
       "is no regular expression");
  says(with(R"("pre_tokenizer": {"type": "Split", "behavior": "Odd", "pattern": {"Regex": "a"}})"),
       "behavior: Odd is not known");
  says(with(R"("decoder": {"type": "WordPiece"})"), "decoder: WordPiece is not known; known are Sequence");
  says(with(R"("post_processor": {"type": "BertProcessing"})"),
       "post_processor: BertProcessing is not known; known are");
  says(with(R"("added_tokens": [{"content": "x", "id": 1}])"), "id 1 is \"b\" in vocab");
  says(with(R"("added_tokens": [{"content": "x", "id": 3, "single_word": true}])"), "single_word is not supported");
}

TEST_CASE("text is cut as the patterns say, and nothing is lost") {
  const auto cut = [](const std::string& text, const char* pattern) {
    std::string pieces;
    for (const std::string_view piece : split(text, Pattern(pattern))) pieces += std::string(piece) + "|";
    return pieces;
  };
  CHECK(cut("It's 12345  now\n", llama3_pattern) == "It|'s| |123|45| | now|\n|");
  CHECK(cut("It's 12345  now\n", gpt2_pattern) == "It|'s| 12345| | now|\n|");
  CHECK(cut("a-b", "[a-z]") == "a|-|b|");
  CHECK(cut("a\u180eb", "\\s") == "a\u180eb|");  // no white space since Unicode 6.3
  CHECK(cut("", llama3_pattern) == "");
  CHECK_THROWS_WITH_AS(split("\xFF", Pattern("a")), "a text that is not UTF-8 cannot be split", UsageError);
}

TEST_SUITE_END();
