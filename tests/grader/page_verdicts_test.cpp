// The verdicts that lessons' pages quote are what the grader says of these mistakes today.
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "contains.hpp"
#include "learner/lessons.hpp"
#include "rungs/base/file.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

/// The fenced blocks of a page that name a known mistake, made as it is listed: "your output is what you get when".
std::vector<std::string> quoted_verdicts(const std::string& page) {
  const std::string fence = "\n```\n";
  std::vector<std::string> blocks;
  for (size_t begin = page.find(fence); begin != page.npos;) {
    begin += fence.size();
    const size_t end = std::min(page.find("\n```", begin), page.size());
    const std::string block = page.substr(begin, end - begin);
    if (block.find("your output is what you get when") != block.npos) blocks.push_back(block);
    begin = page.find(fence, page.find('\n', end + 1));
  }
  return blocks;
}

/// Its words, without what depends on the processor or on the file: rounding, lines, and how the text is wrapped.
std::string words_of(std::string text) {
  text = std::regex_replace(text, std::regex(R"(, at most \d+% of the tolerance used)"), "");
  text = std::regex_replace(text, std::regex(R"(\n  In [^\n]*, line \d+\.)"), "");
  text = std::regex_replace(text, std::regex(R"(at\s+\S+\.cu:\d+|\(\S+\.cu:\d+\))"), "at a line");
  text = std::regex_replace(text, std::regex(R"((lesson_\w+::)\w+::)"), "$1");  // a mistake has a namespace of its own
  return std::regex_replace(text, std::regex(R"(\s+)"), " ");
}

/// What a learner reads who made this mistake.
std::string verdict(MistakeAnswers& answers, const KnownMistake& m, Suite suite) {
  const Lesson& l = answers.lesson();
  const std::string file = "work/" + l.name + l.ending;
  return words_of(screen(grade(l, suite, {l.mistakes_runner, m.name, file, {}, nullptr, &answers}), false));
}

/// Mistakes that share the sentence of a block; any of them may be the one that the page shows.
std::vector<KnownMistake> named_in(const std::string& block, const Lesson& l) {
  std::vector<KnownMistake> named;
  for (const KnownMistake& m : l.mistakes)
    if (words_of(block).find(words_of(m.says)) != block.npos) named.push_back(m);
  return named;
}

}  // namespace

TEST_SUITE_BEGIN("pages");

TEST_CASE("the verdicts that lessons' pages quote are the grader's") {
  for (const Lesson& l : find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR)) {
    const std::vector<std::string> blocks = quoted_verdicts(read_text(l.page));
    if (blocks.empty()) continue;
    MistakeAnswers answers(l);
    for (const std::string& block : blocks) {
      const Suite suite = block.find("  kv_evaluate  ") == block.npos ? Suite::evaluate : Suite::kv_evaluate;
      const std::string quoted = words_of(block);
      std::string said;
      for (const KnownMistake& m : named_in(block, l)) {
        said = verdict(answers, m, suite);
        if (said.find(quoted) != said.npos) break;
      }
      INFO(l.page.string(), " quotes:\n", block);
      CHECK(said == Contains(quoted.c_str()));
    }
  }
}

TEST_SUITE_END();
