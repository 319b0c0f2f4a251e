#include "rungs/tokenizer/vocabulary.hpp"

#include "generate/tiny_model.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("text");

TEST_CASE("encode takes the longest token, and puts a space in front") {
  const Folder folder;
  const Vocabulary v(write_file(folder / "v.json", tiny_vocabulary));
  CHECK(v.size() == 30);
  CHECK(v.bos() == 0);
  CHECK(v.eos() == 1);
  CHECK(v.encode("the cat.") == std::vector<int32_t>{24, 25, 29});
  CHECK(v.encode(" the cat.") == v.encode("the cat."));
  CHECK(v.encode("\nthe") == std::vector<int32_t>{2, 23, 11, 8});
  CHECK(v.encode("thecat") == std::vector<int32_t>{24, 6, 4, 23});
  CHECK(v.encode("th") == std::vector<int32_t>{3, 23, 11});
  CHECK(v.encode("  the") == std::vector<int32_t>{3, 24});
  CHECK(v.encode("") == std::vector<int32_t>{3});
}

TEST_CASE("decode gives back what was encoded") {
  const Folder folder;
  const Vocabulary v(write_file(folder / "v.json", tiny_vocabulary));
  for (const std::string text : {"the cat sat on the mat.", "a", "\nthe", "thecat  on", "", "a\n\nb "})
    CHECK(v.decode(v.encode(text)) == text);
  CHECK(v.decode(std::vector<int32_t>{0, 24, 25, 1}) == "the cat");
  CHECK(v.text_of(24) == " the");
  CHECK(v.text_of(1) == "");
}

TEST_CASE("specials match no text") {
  const Folder folder;
  const Vocabulary v(write_file(
      folder / "v.json", R"({"tokens": ["<s>", "<", "s", ">", " ", "e"], "bos_token_id": 0, "eos_token_id": 5})"));
  CHECK(v.encode("<s>") == std::vector<int32_t>{4, 1, 2, 3});
  CHECK_THROWS_WITH_AS(v.encode("e"), "byte 0x65 at offset 0 of the text has no token", UsageError);
}

TEST_CASE("a byte without a token is named with its offset in the text that was given") {
  const Folder folder;
  const Vocabulary v(write_file(folder / "v.json", tiny_vocabulary));
  CHECK_THROWS_WITH_AS(v.encode("caf\xc3\xa9"), "byte 0xC3 at offset 3 of the text has no token", UsageError);
  CHECK_THROWS_WITH_AS(v.encode(" caf\xc3\xa9"), "byte 0xC3 at offset 4 of the text has no token", UsageError);
  CHECK_THROWS_WITH_AS(v.encode("Z"), "byte 0x5A at offset 0 of the text has no token", UsageError);
  CHECK_THROWS_WITH_AS(v.encode(std::string_view("a\0", 2)), "byte 0x00 at offset 1 of the text has no token",
                       UsageError);
}

TEST_CASE("an id outside the vocabulary is named") {
  const Folder folder;
  const Vocabulary v(write_file(folder / "v.json", tiny_vocabulary));
  CHECK_THROWS_WITH_AS(v.decode(std::vector<int32_t>{3, 30}), "token id 30 is not in [0, 30)", UsageError);
  CHECK_THROWS_WITH_AS(v.decode(std::vector<int32_t>{-1}), "token id -1 is not in [0, 30)", UsageError);
}

TEST_CASE("a broken vocabulary names the file, the field, what was wanted and what was found") {
  const Folder folder;
  const std::filesystem::path path = folder / "v.json";
  const auto says = [&](const std::string& content, const std::string& sentence) {
    write_file(path, content);
    CHECK_THROWS_WITH_AS(Vocabulary{path}, (path.string() + ": " + sentence).c_str(), FileError);
  };
  CHECK_THROWS_AS(Vocabulary{path}, FileError);  // there is none
  says("[1]", "wanted an object, found array");
  says("{}", "tokens: wanted a list of strings, found none");
  says(R"({"tokens": {}})", "tokens: wanted a list of strings, found object");
  says(R"({"tokens": []})", "tokens: wanted a list of strings, found array");
  says(R"({"tokens": ["a", 7]})", "tokens: wanted a string that is not empty at 1, found 7");
  says(R"({"tokens": ["a", ""]})", "tokens: wanted a string that is not empty at 1, found \"\"");
  says(R"({"tokens": ["a", "b"]})", "bos_token_id: wanted a whole number from 0 to 1, found none");
  says(R"({"tokens": ["a", "b"], "bos_token_id": 0, "eos_token_id": 2})",
       "eos_token_id: wanted a whole number from 0 to 1, found 2");
  says(R"({"tokens": ["a", "b"], "bos_token_id": 0.5, "eos_token_id": 1})",
       "bos_token_id: wanted a whole number from 0 to 1, found 0.5");
  says(R"({"tokens": ["a", "b", "c", "c"], "bos_token_id": 0, "eos_token_id": 1})",
       "tokens: wanted each string once, found \"c\" at 2 and 3");
  write_file(path, R"({"tokens": )");
  CHECK_THROWS_WITH_AS(Vocabulary{path}, Contains("is not JSON"), FileError);
}

TEST_SUITE_END();
