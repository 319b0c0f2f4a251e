// hint, read, progress, completion: what needs no build.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "contains.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

/// All but stretches, which have no page of their own.
static std::vector<std::string> lesson_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(RUNGS_SOURCE_DIR "/lessons"))
    if (std::filesystem::exists(entry.path() / "walkthrough.md")) names.push_back(entry.path().filename());
  return names;
}

static Outcome learner(const Folder& work, const std::string& words) {
  return run_rungs(words, "RUNGS_WORK='" + work.path().string() + "'");
}

TEST_CASE("hints come one at a time, and the last one again") {
  const Folder work;
  for (const std::string lesson : {"1", "6", "21"}) {
    CAPTURE(lesson);
    CHECK(learner(work, "hint " + lesson).out == Contains("Hint 1: "));
    const Outcome second = learner(work, "hint " + lesson);
    CHECK(second.out == Contains("Hint 2: "));
    CHECK(second.out.find("Hint 1: ") == std::string::npos);
    for (int i = 0; i < 3; ++i) learner(work, "hint " + lesson);
    CHECK(learner(work, "hint " + lesson).out == Contains("That is the last hint"));
  }
  CHECK(learner(work, "hint 6 --all").out == Contains("Hint 3: "));
}

TEST_CASE("every page can be read in a terminal: nothing of its marks is left, and no formula's commands") {
  const Folder work;
  for (const std::string& name : lesson_names()) {
    const std::string number = name.substr(name[0] == '0', name.find('_') - (name[0] == '0'));
    CAPTURE(number);
    const Outcome page = learner(work, "read " + number);
    CHECK(page.status == 0);
    CHECK(page.out.size() > 5000);
    CHECK(page.out.starts_with("Lesson " + number + ": "));
    for (const char* mark : {"\\f", "{#", "\\until", "\\dontinclude", "\\verbinclude", "</", "@ref", "\\frac", "**"}) {
      CAPTURE(mark);
      CHECK(page.out.find(mark) == std::string::npos);
    }
  }
}

/// How often a part is in a text.
static size_t count_of(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

TEST_CASE("every page becomes one file for a browser: each element ends, no mark is left, nothing is fetched") {
  const Folder work;
  for (const std::string& name : lesson_names()) {
    CAPTURE(name);
    REQUIRE(learner(work, "read " + name + " --html '" + work.path().string() + "/page.html'").status == 0);
    const std::string page = read_text(work.path() / "page.html");
    for (const char* element :
         {"details", "summary", "pre", "table", "ul", "ol", "p", "h2", "b", "em", "span", "sub"}) {
      CAPTURE(element);
      const std::string tag = "<" + std::string(element);
      CHECK(count_of(page, tag + ">") + count_of(page, tag + " ") == count_of(page, "</" + std::string(element) + ">"));
    }
    CHECK(page == Contains("<summary>Hint 1: "));
    for (const char* mark : {"\\f[", "\\f$", "{#", "\\until", "\\dontinclude", "\\verbinclude", "@ref", "\\frac",
                             "\x01", "\uE000", "<script src", "<link", "@import", "<iframe", "src=\"http"}) {
      CAPTURE(mark);
      CHECK(page.find(mark) == std::string::npos);
    }
  }
  CHECK(learner(work, "read 6 --html /no/such/folder/page.html").status == 3);
}

TEST_CASE("a text that cannot go into a lesson's program is said in one sentence") {
  check_fails("run 16 --text 'Tom had a dog'", 2,
              "no text goes into the program of 16_cuda_first; one goes into those of lessons 02, 03, 04, 05, 06, 07, "
              "08, 08b, 09, 10, 11, 12, 13, 14, 15, 20 and 27");
  check_fails("run 5 --text ''", 2, "--text: wanted a text, found an empty one");
  check_fails("run 5 --text 'Zoë had a dog'", 2, "--text: the vocabulary of weights/decoder has no token for ë");
  check_fails("run 9 --text 'a 🦊'", 2,
              "--text: the vocabulary of weights/hybrid/09_multi_head has no token for 🦊");
  check_fails("run 5 --text \"$(printf 'a\\377')\"", 2, "--text is not UTF-8");
  check_fails("run 5 --text '" + std::string(64, '.') + "'", 2,
              "--text: wanted at most 64 tokens, with the one that begins it, found 66");
  check_fails("run 14 --text '" + std::string(1001, 'a') + "'", 2, "--text: wanted at most 1000 bytes, found 1001");
  CHECK(run_rungs("completion words -- run").out == Contains("--text\n"));
}

TEST_CASE("a stretch is found by its lesson, and counts nowhere") {
  const Folder work;
  check_fails("start 05 --stretch", 2, "05_attention has no stretch; there is one of lessons 04, 06, 07, 08 and 09");
  check_fails("check --stretch", 2, "--stretch is of a lesson: say which, as in ./rungs check 07 --stretch");
  CHECK(learner(work, "run 07s").err == Contains("a stretch has no program; "));
  CHECK(learner(work, "hint 07s").out == Contains("Stretch hint 1: "));
  CHECK(learner(work, "hint 07").out == Contains("Hint 1: "));
  CHECK(learner(work, "read 07s").out.starts_with("Lesson 7: "));
  write_file(work / "07s_min_p.cpp", "// mine\n");
  CHECK(learner(work, "read").out.starts_with("Lesson 7: "));
  for (const char* command : {"list", "progress", "progress --json"}) {
    CAPTURE(command);
    CHECK(learner(work, command).out.find("07s") == std::string::npos);
  }
}

TEST_CASE("progress names what was begun and what is next, for people and for scripts") {
  const Folder work;
  CHECK(learner(work, "progress").out == Contains(fmt::format("0 of {} passed", lesson_names().size()).c_str()));
  CHECK(learner(work, "progress").out == Contains("start 01\n"));
  write_file(work / "03_layer_norm.cpp", "// mine\n");
  CHECK(learner(work, "progress").out == Contains("03_layer_norm       started"));
  CHECK(learner(work, "progress").out == Contains("watch 03\n"));
  const auto shown = nlohmann::json::parse(learner(work, "progress --json").out);
  CHECK(shown.at("passed") == 0);
  CHECK(shown.at("total") == lesson_names().size());
  CHECK(shown.at("lessons").at(2).at("state") == "started");
}

TEST_CASE("without a number the lesson whose file was saved last, and its file's name is a name") {
  const Folder work;
  check_fails("completion fish", 2, "no completion for fish; there is one for bash and one for zsh");
  CHECK(learner(work, "hint").err == Contains("there is no file of a lesson in"));
  write_file(work / "03_layer_norm.cpp", "// mine\n");
  write_file(work / "06_causal_mask.cpp", "// mine\n");
  std::filesystem::last_write_time(
      work / "06_causal_mask.cpp",
      std::filesystem::last_write_time(work / "03_layer_norm.cpp") - std::chrono::hours(1));
  CHECK(learner(work, "read").out.starts_with("Lesson 3: "));
  CHECK(learner(work, "read work/06_causal_mask.cpp").out.starts_with("Lesson 6: "));
}

TEST_CASE("a shell completes commands, options and lessons") {
  CHECK(run_rungs("completion words --").out == Contains("watch\n"));
  CHECK(run_rungs("completion words -- check").out == Contains("\n06\n"));
  CHECK(run_rungs("completion words -- bench").out == Contains("cache\n"));
  CHECK(run_rungs("completion words -- generate").out == Contains("--max-tokens\n"));
  CHECK(run_rungs("completion words -- generate --model").out == "");
  const Folder folder;
  const std::string script = write_file(folder / "script", "source <('" RUNGS_COMMAND
                                                           "' completion bash)\n"
                                                           "COMP_WORDS=('" RUNGS_COMMAND
                                                           "' wat) COMP_CWORD=1\n"
                                                           "_rungs\necho \"${COMPREPLY[@]}\" >" +
                                                               (folder / "out").string() + "\n");
  if (std::system("bash -c true") != 0) {
    MESSAGE("SKIPPED: there is no bash");
    return;
  }
  REQUIRE(std::system(("bash '" + script + "'").c_str()) == 0);
  CHECK(read_text(folder / "out") == "watch\n");
}

TEST_SUITE_END();
