// Inputs drawn at grade time.
#include "rungs/grader/draw.hpp"

#include <algorithm>

#include "learner/lessons.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

static std::string text_of(const Tensor& bytes) {
  return {bytes.data<int32_t>(), bytes.data<int32_t>() + bytes.count()};
}

TEST_SUITE_BEGIN("grader");

TEST_CASE("a drawn text has the characters of the saved one in another order, and the solution's answer to it") {
  const Lesson lesson = lesson_called("14_tokenizer");
  const DrawnCases all = draw_cases(lesson, 1);
  int texts = 0, answered_otherwise = 0;
  for (const Case& c : load_cases(lesson.references)) {
    if (c.input.run != "encode" || !all.count(c.input.name)) continue;
    for (const DrawnCase& drawn : all.at(c.input.name)) {
      std::string saved = text_of(c.input["text"]), other = text_of(drawn.input["text"]);
      INFO(c.input.name, ": ", other);
      CHECK(other != saved);
      CHECK(std::all_of(other.begin(), other.end(), [](char byte) { return byte != 0; }));
      std::sort(saved.begin(), saved.end()), std::sort(other.begin(), other.end());
      CHECK(other == saved);
      REQUIRE(drawn.outputs.size() == 1);
      const Tensor& ids = c.find("ids")->value;
      answered_otherwise += drawn.outputs[0].value.shape() != ids.shape() || [&] {
        for (int64_t i = 0; i < ids.count(); ++i)
          if (drawn.outputs[0].value.value(i) != ids.value(i)) return true;
        return false;
      }();
      ++texts;
    }
  }
  CHECK(texts >= 20);
  CHECK(answered_otherwise >= texts - 2);
}

TEST_CASE("a character of several bytes stays whole in a drawn text") {
  const DrawnCases all = draw_cases(lesson_called("14_tokenizer"), 2);
  int long_characters = 0;
  for (const auto& [name, drawn] : all)
    for (const DrawnCase& d : drawn) {
      const auto text = d.input.in.find("text");
      if (text == d.input.in.end() || d.input.run != "encode") continue;
      int left = 0;  // bytes that the character still has
      for (const char byte : text_of(text->second)) {
        const auto b = uint8_t(byte);
        CAPTURE(name);
        INFO("byte ", int(b));
        CHECK((left > 0) == ((b & 0xc0) == 0x80));
        left = left > 0 ? left - 1 : b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : b >= 0xc0 ? 1 : 0;
        long_characters += b >= 0xc0;
      }
      CHECK(left == 0);
    }
  CHECK(long_characters > 0);
}

TEST_CASE("a case that counts is asked with larger sizes, and most answers are others") {
  for (const char* name : {"22_memory", "23_roofline"}) {
    INFO(name);
    const Lesson lesson = lesson_called(name);
    const DrawnCases all = draw_cases(lesson, 3);
    size_t without = 0, answered_otherwise = 0;
    for (const Case& c : load_cases(lesson.references)) {
      if (!c.error.empty()) continue;
      if (!all.count(c.input.name)) {
        ++without;
        continue;
      }
      INFO(c.input.name);
      for (const DrawnCase& drawn : all.at(c.input.name)) {
        bool larger = false;
        for (const auto& [key, size] : c.input.in)
          for (int64_t i = 0; i < size.count(); ++i) {
            CHECK(drawn.input[key].value(i) >= size.value(i));
            CHECK(drawn.input[key].value(i) <= 1.5 * size.value(i) + 1);
            larger = larger || drawn.input[key].value(i) > size.value(i);
          }
        CHECK(larger);
      }
      const std::vector<Recorded>& answers = all.at(c.input.name)[0].outputs;
      answered_otherwise += std::any_of(answers.begin(), answers.end(), [&](const Recorded& answer) {
        return answer.value.value(0) != c.find(answer.name)->value.value(0);
      });
    }
    MESSAGE(all.size(), " cases drawn anew, ", without, " hold a model's sizes alone");
    CHECK(all.size() >= 4 * without);
    CHECK(answered_otherwise * 10 >= all.size() * 8);
  }
}
