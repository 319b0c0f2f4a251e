#include "rungs/base/shell.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace rungs;

TEST_SUITE_BEGIN("shell");

TEST_CASE("a text is one word, whatever is in it") {
  for (const char* text : {"", "a b", "it's", "$HOME `id` \"x\" \\ ; *", "a\nb", "''"})
    CHECK(run_command("printf '%s.' " + shell_word(text)).output == std::string(text) + ".");
}

TEST_CASE("a command has the words that a shell finds in it") {
  for (const char* text : {"", "a b", "it's", "$HOME `id` \"x\" \\ ; *", "a\nb", "''"})
    CHECK(shell_words("x " + shell_word(text) + " y") == std::vector<std::string>{"x", text, "y"});
  for (const std::string command : {"c++ -DA=\"\\\"/a b/y\\\"\" -I\"/a b/x\" -o b/m.o -c '/a b/m.cpp'",
                                    "  a\tb  'c'\"d\"e ", "\\a \\' \"\\a\\$\" ''", ""}) {
    std::string said;
    for (const std::string& word : shell_words(command)) said += "<" + word + ">";
    CHECK(run_command("words() { for w in \"$@\"; do printf '<%s>' \"$w\"; done; }; words " + command).output == said);
  }
}

TEST_CASE("a command gives what it prints and how it ended") {
  std::vector<std::string> lines;
  const Ran ran =
      run_command("echo one; echo; printf two; exit 3", [&](const std::string& line) { lines.push_back(line); });
  CHECK(ran.status == 3);
  CHECK(ran.output == "one\n\ntwo");
  CHECK(lines == std::vector<std::string>{"one\n", "\n", "two"});
  CHECK(run_command("kill -9 $$").status == 128 + 9);
  CHECK(run_command("/nowhere/nothing 2>/dev/null").status == 127);
  CHECK(run_command("head -c 200000 /dev/zero").output.size() == 200000);
}

TEST_SUITE_END();
