// mistakes.toml, experiments.toml and the lists of freely written versions, as the lesson generator reads them.
#define main lesson_generator_main
#include "lesson_generator/lesson_generator.cpp"
#undef main

#include "fuzz.hpp"

/// A lesson of two regions, for `find`, `replace`, `region` and `body` to work on.
static const char* const solution = R"(#include "lesson.hpp"

namespace lesson_99 {

int twice(int x) {
  // >>> x, two times
  return 2 * x;
  // <<<
}

int next(int x) {
  // >>> x and one more
  const int one = 1;
  return x + one;
  // <<<
}

}  // namespace lesson_99
)";

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fs::path lesson = rungs::fuzz::folder() / "99_fuzz", out = rungs::fuzz::folder() / "out";
  fs::create_directories(lesson);
  const fs::path list = lesson / "mistakes.toml";
  std::ofstream(lesson / "solution.cpp") << solution;
  std::ofstream(list, std::ios::binary) << std::string_view(reinterpret_cast<const char*>(data), size);
  const auto refuse_at_most = [](const auto& read) {
    try {
      read();
    } catch (const std::runtime_error&) {  // with a sentence
    }
  };
  refuse_at_most([&] { lesson_generator(lesson, lesson, out); });
  refuse_at_most([&] { write_experiments(list, lesson, out); });
  refuse_at_most([&] { free_versions(list, lesson, out); });
  return 0;
}
