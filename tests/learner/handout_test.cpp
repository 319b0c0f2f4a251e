// What is handed out to a class: no solution, no code of a known mistake, no case that is hidden, in any file.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "contains.hpp"
#include "learner/learner.hpp"

using namespace rungs;
using namespace rungs::test;
namespace fs = std::filesystem;

namespace {

/// A line without white space and comment, where it tells something: a statement with 16 letters and digits or more.
/// `lesson_06::decoder_forward(ops, logits, tokens, w);` is what a header says; includes, `for (int64_t t = 0; t < T;
/// ++t) {` and `return x;` are in every program.
std::string telling(const std::string& line) {
  std::string text = line.substr(0, line.find("//"));
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  const auto tells = std::count_if(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  const bool plain_call = text.starts_with("lesson_") && text.find('.') == text.npos;
  return tells < 16 || plain_call || text.starts_with('#') || text.ends_with('{') || text.ends_with(')') ? "" : text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Telling lines, and the lesson that asks for them.
using Secrets = std::map<std::string, std::string>;

/// Every telling line between markers of every solution, unless that lesson's own starter, or one before it, gives it;
/// and every line of a known mistake that is in no solution.
Secrets secrets() {
  Secrets all;
  std::set<std::string> given, right;
  for (const Lesson& l : find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR)) {
    bool inside = false;
    std::set<std::string> asked;
    if (l.has_kernels())  // its program has kernels of its own, and finds a thread's element in the same way
      for (const std::string& line : lines_of(read_text(l.source / "main.cu"))) given.insert(telling(line));
    for (const std::string& line : lines_of(read_text(l.solution))) {
      if (line.find("// >>>") != line.npos || line.find("// <<<") != line.npos)
        inside = line.find("// >>>") != line.npos;
      else if (const std::string text = telling(line); !text.empty()) {
        right.insert(text);
        if (inside)
          asked.insert(text);
        else if (!all.contains(text))
          given.insert(text);
      }
    }
    for (const std::string& text : asked)
      if (!given.contains(text)) all.emplace(text, l.name);
  }
  for (const Lesson& l : find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR))
    if (const fs::path made = l.starter.parent_path() / ("mistakes" + l.ending); fs::exists(made))
      for (const std::string& line : lines_of(read_text(made)))
        if (const std::string text = telling(line);
            !text.empty() && !right.contains(text) && text.find("rungs::CaseInput&") == text.npos)
          all.emplace(text, "a known mistake of " + l.name);
  return all;
}

/// The library computes the same as the lessons and is there whole: what it has is no secret.
Secrets without_library(Secrets all, const fs::path& tree) {
  for (const char* folder : {"lib", "kernels"})
    for (const auto& entry : fs::recursive_directory_iterator(tree / folder))
      if (entry.is_regular_file())
        for (const std::string& line : lines_of(read_text(entry.path()))) all.erase(telling(line));
  return all;
}

/// "lessons/06_causal_mask/starter.cpp: matmul(out,weights,v); of 05_attention", for each secret in a file of the tree.
std::vector<std::string> leaks(const fs::path& tree, const Secrets& secrets) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    if (!entry.is_regular_file()) continue;
    for (const std::string& line : lines_of(read_text(entry.path())))
      if (const auto it = secrets.find(telling(line)); it != secrets.end())
        found.push_back(fs::relative(entry.path(), tree).string() + ": " + it->first + " of " + it->second);
  }
  return found;
}

bool has_lesson(const std::string& path, int from) {
  static const std::vector<Lesson> lessons = find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR);
  for (const Lesson& l : lessons)
    if (l.number() >= from && path.find(l.name) != path.npos) return true;
  return false;
}

}  // namespace

TEST_SUITE_BEGIN("handout");

TEST_CASE("a handout has no line of a solution, no code of a known mistake, and no case but the tree's") {
  Learner instructor;
  Folder folder;
  const fs::path tree = folder / "course";
  REQUIRE(instructor.types("handout --lessons 01-06,16 '" + tree.string() + "'") == 0);  // all take minutes
  CHECK(instructor.text == Contains("A plain tree, without a history"));
  const Secrets all = without_library(secrets(), tree);
  CHECK(all.size() > 500);
  for (const std::string& leak : leaks(tree, all)) FAIL_CHECK(leak);
  CHECK_FALSE(leaks(fs::path(RUNGS_SOURCE_DIR) / "lessons/05_attention", all).empty());  // they would be seen
  CHECK_FALSE(leaks(fs::path(RUNGS_SOURCE_DIR) / "tests/learner", all).empty());

  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    const std::string path = fs::relative(entry.path(), tree).string();
    const bool of_a_lesson = path.starts_with("lessons/") || path.starts_with("weights/references/");
    CHECK_FALSE((of_a_lesson && has_lesson(path, 7) && path.find("16_cuda_first") == path.npos));
    CHECK(path.find("/solution.") == path.npos);
    CHECK(entry.path().filename() != ".git");
    if (path.find("references/") != path.npos) {
      INFO(path);
      CHECK(fs::exists(fs::path(RUNGS_SOURCE_DIR) / path));
    }
  }
  const std::string page = read_text(tree / "lessons/05_attention/walkthrough.md");
  CHECK(page.find("It shows the solution") == page.npos);
  CHECK(page == Contains("Hint 1"));
  CHECK(read_text(tree / "lessons/16_cuda_first/starter.cu") == Contains("not_written"));
  CHECK(read_text(tree / "lessons/16_cuda_first/mistakes.recorded").size() > 1000);
  CHECK(read_text(tree / "AGENTS.md") == Contains("do not solve"));
  CHECK(read_text(tree / "README.md") == Contains("`06_causal_mask`: no token sees the future"));

  Folder build;  // that it builds is tried by hand: it takes minutes
  const std::string log = build / "log";
  CHECK(std::system(("cmake -S '" + tree.string() + "' -B '" + build.path().string() +
                     "/tree' -G Ninja -DRUNGS_CUDA=OFF >'" + log + "' 2>&1")
                        .c_str()) == 0);
  INFO(read_text(log));
  CHECK(read_text(build / "tree/lessons.txt") == Contains("06_causal_mask"));
}

TEST_CASE("a handout is written into a new folder, and its lessons build on those in it") {
  Learner instructor;
  Folder folder;
  write_file(folder / "essay.txt", "mine");
  CHECK(instructor.types("handout '" + folder.path().string() + "'") == 2);
  CHECK(instructor.text == Contains("is there and not empty"));
  CHECK(read_text(folder / "essay.txt") == "mine");
  const std::string to = " '" + (folder / "new").string() + "'";
  CHECK(instructor.types("handout --lessons 06" + to) == 2);
  CHECK(instructor.text == Contains("06_causal_mask builds on 02_embedding, which --lessons 06 leaves out"));
  for (const char* words : {"x", "3-1", "01-", "", "0", "01,,02", "99999999999"}) {
    INFO(words);
    CHECK(instructor.types("handout --lessons '" + std::string(words) + "'" + to) == 2);
    CHECK(instructor.text == Contains("--lessons"));
  }
  CHECK_FALSE(fs::exists(folder / "new"));
}

TEST_SUITE_END();
