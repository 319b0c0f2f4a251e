#include "rungs/base/code_line.hpp"

#include <doctest/doctest.h>

using namespace rungs;

TEST_SUITE_BEGIN("code line");

TEST_CASE("a line is the kernel's, with the helper that it calls, and CUDA's own are passed over") {
  const CodeLine line =
      code_line({"/usr/include/c++/12/cmath:5", "/r/kernels/emulator/language/warp.hpp:7", "/r/kernels/warp.cuh:31",
                 "/r/a b/matmul/03_tile.cu:12 (discriminator 3)", "/r/tests/other.cpp:1"});
  CHECK(to_string(line, 1) == "matmul/03_tile.cu:12 (in kernels/warp.cuh:31)");
  CHECK(to_string(code_line({"work/17.cu:3"}), 1) == "work/17.cu:3");
  CHECK(code_line({"??:0", "no line", "a.cu:0"}).file.empty());
}

TEST_CASE("what stands for an unknown line is found again, and nothing else is asked for") {
  const std::string unknown = to_string(CodeLine(), 0x1a2b);
  CHECK(unknown.find("0x1a2b") != unknown.npos);
  CHECK(unknown.find("addr2line") != unknown.npos);
  for (const std::string& text : {unknown, "a " + unknown + " b", std::string("the instruction at 0x"),
                                  std::string("the instruction at 0x12 of mine"), std::string()})
    CHECK(with_lines(text, "/nowhere/program") == text);
}

TEST_SUITE_END();
