// One lesson of a handout: starter, page, sentences of its known mistakes and what they answer.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "handout.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/grader/mistake_answers.hpp"

namespace rungs {

namespace fs = std::filesystem;

static void write_text(const fs::path& file, const std::string& text) {
  write_whole(file, [&](std::ostream& out) { out << text; });
}

std::string page_without_solution(const std::string& page, const std::string& lesson) {
  std::string text = page;
  const std::string summary = "<summary>It shows the solution</summary>", end = "</details>\n";
  for (size_t at; (at = text.find(summary)) != text.npos;) {
    const size_t details = text.rfind("<details>", at), close = text.find(end, at);
    size_t begin = details == text.npos ? at : text.rfind("\n## ", details);
    if (begin == text.npos || text.find_first_not_of(" \n", text.find('\n', begin + 1)) != details) begin = details - 1;
    if (close == text.npos) throw FileError("the page of " + lesson + " does not close what shows the solution");
    text.erase(begin, close + end.size() - begin);
  }
  const std::string quoted = lesson + "/solution.c";  // .cpp or .cu
  for (size_t at; (at = text.find(quoted)) != text.npos;) text.replace(at, quoted.size(), lesson + "/starter.c");
  return text;
}

/// mistakes.toml without code: the lesson's functions, and what is said of each mistake.
static std::string sentences_of(const Lesson& lesson) {
  const fs::path file = lesson.source / "mistakes.toml";
  const std::string all = read_text(file);
  const size_t begin = all.find("\npieces = ["), end = all.find(']', begin);
  if (begin == all.npos || end == all.npos) throw FileError(file.string() + ": wanted `pieces`, a list of functions");
  std::string text =
      "# What is known of wrong versions. Their code is not handed out: mistakes.recorded has what they "
      "answer.\n" +
      all.substr(begin + 1, end - begin) + "\n";
  const auto quoted = [](const std::string& words) { return nlohmann::json(words).dump(); };
  for (const KnownMistake& m : lesson.mistakes)
    text += fmt::format("\n[[mistake]]\nname = {}\nsays = {}\nread = {}\nshows = {}\n", quoted(m.name), quoted(m.says),
                        quoted(m.read), quoted(m.shows));
  return text;
}

void hand_out_lesson(const Lesson& lesson, const AskedCode& asked, const fs::path& out) {
  const fs::path to = out / "lessons" / lesson.name;
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(lesson.source)) {
    const fs::path name = entry.path().filename();
    // broken.cu, whose sessions with the checker and gdb the page has as text, is the solution with one mistake.
    const bool given = name.stem() == "main" || name == "cases.cpp" || name.extension() == ".hpp" ||
                       (name.extension() == ".txt" && !fs::is_directory(entry.path()));
    if (given) fs::copy_file(entry.path(), to / name);
    if (name == "experiments")
      fs::copy(entry.path(), to / name, fs::copy_options::recursive);  // what comes out, no code
  }
  write_text(to / ("starter" + lesson.ending), asked.without_earlier_answers(read_text(lesson.starter), lesson.name));
  write_text(to / "walkthrough.md", page_without_solution(read_text(lesson.source / "walkthrough.md"), lesson.name));
  write_text(to / "mistakes.toml", sentences_of(lesson));
  record_mistakes(lesson, to / lesson.recorded.filename());
  const fs::path cases = out / "weights/references" / lesson.name;
  fs::create_directories(cases.parent_path());
  fs::copy(lesson.references, cases, fs::copy_options::recursive);
}

}  // namespace rungs
