#include "fold.hpp"

#include "cli.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

using Lines = std::vector<std::string>;

TEST_CASE("text is folded between words, and within a word that is too long") {
  CHECK(folded("one two three\nfour", 8) == Lines{"one two", "three", "four"});
  CHECK(folded("one two", 7) == Lines{"one two"});
  CHECK(folded("abcdefgh", 3) == Lines{"abc", "def", "gh"});
  CHECK(folded("  kept  apart", 20) == Lines{"  kept  apart"});
  CHECK(folded("a\n\nb\n", 5) == Lines{"a", "", "b"});
  CHECK(folded("", 5).empty());
  CHECK(folded("left              right", 10) == Lines{"left", "right"});
}

TEST_CASE("colours take no room on a line, and a character of several bytes takes one column") {
  CHECK(folded("\x1b[1mabc\x1b[0m", 3) == Lines{"\x1b[1mabc\x1b[0m"});
  CHECK(folded("√√√ √√√", 3) == Lines{"√√√", "√√√"});
  CHECK(folded("\x1b[", 3).size() == 1);  // one that does not end
}

TEST_CASE("what is too long loses its middle, and says so") {
  const Lines lines = {"1", "2", "3", "4", "5", "6"};
  CHECK(shortened(lines, 6, 40, "more") == lines);
  CHECK(shortened(lines, 5, 40, "rungs check 06") == Lines{"1", "2", "... 2 lines more: rungs check 06", "5", "6"});
  CHECK(shortened(lines, 5, 20, "rungs check 06") == Lines{"1", "2", "... 2 lines more", "5", "6"});
  CHECK(shortened(lines, 0, 40, "x") == Lines{"... 4 lines more: x", "5", "6"});
}

TEST_SUITE_END();
