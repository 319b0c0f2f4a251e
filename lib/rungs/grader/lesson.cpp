#include "rungs/grader/lesson.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"

namespace rungs {

namespace fs = std::filesystem;

/// "/// Lesson 6: no token sees the future." gives "no token sees the future".
static std::string title_of(const fs::path& header) {
  const std::string text = read_text(header), line = text.substr(0, text.find('\n'));
  const size_t colon = line.find(": ");
  if (!line.starts_with("/// Lesson ") || colon == line.npos || !line.ends_with('.'))
    throw FileError(
        fmt::format("{}: line 1: wanted \"/// Lesson N: what it adds.\", found \"{}\"", header.string(), line));
  return line.substr(colon + 2, line.size() - colon - 3);
}

/// None before the lesson was first built.
static std::vector<KnownMistake> mistakes_of(const fs::path& file) {
  std::vector<KnownMistake> mistakes;
  if (!fs::exists(file)) return mistakes;
  for (const auto& m : nlohmann::json::parse(read_text(file)))
    mistakes.push_back({m.at("name"), m.at("says"), m.at("read"), m.at("shows")});
  return mistakes;
}

bool Lesson::has_solution() const { return fs::exists(solution); }

bool Lesson::has_cache() const {
  for (const auto& entry : fs::directory_iterator(references))
    if (entry.path().filename().string().find("_prompt_") != std::string::npos) return true;
  return false;
}

fs::path work_directory(const fs::path& source) {
  const char* folder = std::getenv("RUNGS_WORK");
  return folder && *folder ? fs::absolute(folder) : source / "work";
}

/// Those of a list: a line each, the lesson and then those it builds on.
static std::vector<Lesson> lessons_of(const char* file, const fs::path& source, const fs::path& build) {
  const fs::path weights = std::getenv("RUNGS_WEIGHTS") ? weights_directory() : source / "weights";
  std::vector<Lesson> lessons;
  std::istringstream list(read_text(build / file));
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    Lesson l;
    words >> l.name;
    for (std::string word; words >> word;) l.builds_on.push_back(word);
    const fs::path generated = build / "lessons" / l.name, programs = build / "bin";
    l.source = source / "lessons" / l.name;
    l.title = title_of(l.source / "lesson.hpp");
    l.ending = fs::exists(l.source / "main.cu") ? ".cu" : ".cpp";
    l.page = l.source / "walkthrough.md";
    l.solution = l.source / ("solution" + l.ending);
    l.mine = work_directory(source) / (l.name + l.ending);
    l.starter = generated / ("starter" + l.ending);
    l.references = weights / "references" / l.name;
    l.recorded = l.source / "mistakes.recorded";
    l.solution_runner = programs / (l.name + "_solution");
    l.mine_runner = programs / (l.name + "_mine");
    l.mistakes_runner = programs / (l.name + "_mistakes");
    l.program = programs / l.name;
    l.mistakes = mistakes_of(generated / "mistakes.json");
    lessons.push_back(std::move(l));
  }
  return lessons;
}

std::vector<Lesson> find_lessons(const fs::path& source, const fs::path& build) {
  return lessons_of("lessons.txt", source, build);
}

std::vector<Lesson> find_stretches(const fs::path& source, const fs::path& build) {
  std::vector<Lesson> stretches = lessons_of("stretches.txt", source, build);
  for (const Lesson& lesson : find_lessons(source, build))
    for (Lesson& stretch : stretches)
      if (stretch.short_name() == lesson.short_name() + "s") stretch.page = lesson.page;
  return stretches;
}

}  // namespace rungs
