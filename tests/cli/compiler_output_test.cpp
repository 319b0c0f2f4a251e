#include "compiler_output.hpp"

#include "cli.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

TEST_CASE("the first error in the learner's own file is shown, not the one that came before it in a header") {
  const std::string output =
      "[1/2] Building CXX object mine/06.cpp.o\n"
      "FAILED: mine/06.cpp.o\nc++ -O0 -c mine/06.cpp\n"
      "/lib/tensor.hpp:80:3: error: static assertion failed\n   80 |   static_assert(x);\n"
      "/work/06.cpp:16:23: error: 'Tensor' has no member named 'dims'\n"
      "   16 |   q.dims(0);\n      |     ^~~~\n"
      "/work/06.cpp:20:1: error: another\n";
  CHECK(first_error(output, "/work/06.cpp", "work/06.cpp") ==
        "work/06.cpp:16:23: error: 'Tensor' has no member named 'dims'\n   16 |   q.dims(0);\n      |     ^~~~\n"
        "The first of 3 errors.\n");
  CHECK(first_error("/lib/x.hpp:1:2: error: there\n", "/work/06.cpp", "work/06.cpp") ==
        "/lib/x.hpp:1:2: error: there\n");
  CHECK(first_error("no such tool\n", "/work/06.cpp", "work/06.cpp") == "no such tool\n");
  const std::string longest =
      first_error("/work/06.cpp:1:1: error: " + std::string(5000, 'x') + "\n", "/work/06.cpp", "06");
  CHECK(longest.size() < 320);
  CHECK(longest.ends_with("...\n"));
}

TEST_CASE("of ten thousand lines of errors the first are shown, and how many follow is said") {
  std::string output;
  for (int i = 0; i < 10000; ++i) output += "a.cpp:1:1: error: x\n";
  const std::string text = compiler_output(output);
  CHECK(text.ends_with("... and 9940 lines more\n"));
  CHECK(text.size() < 2000);
}

TEST_SUITE_END();
