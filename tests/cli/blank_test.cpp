#include "blank.hpp"

#include "cli.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

TEST_CASE("of a blank starter, what has a step is a signature, and the rest is as it was") {
  CHECK(blank("#include \"a.hpp\"\n\nnamespace l {\n\nstatic int given(int x) {\n  return x;\n}\n\n"
              "/// Says what.\nvoid two(Tensor& out,\n         int y) {\n  if (y) {\n    // step 1\n"
              "    not_written(\"step 1\");\n  }\n}\n\n}  // namespace l\n") ==
        "#include \"a.hpp\"\n\nnamespace l {\n\nstatic int given(int x) {\n  return x;\n}\n\n"
        "/// Says what.\nvoid two(Tensor& out,\n         int y) {\n  not_written(\"two, all of it\");\n}\n\n"
        "}  // namespace l\n");
  CHECK(blank("") == "");
  CHECK(blank("int f(int x) {\n") == "int f(int x) {\n");  // one that does not end
}

TEST_SUITE_END();
