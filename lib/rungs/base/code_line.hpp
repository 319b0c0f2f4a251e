/// From an instruction of a program to the line that it was compiled from, as addr2line tells it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rungs {

/// A line of a source file.
struct CodeLine {
  std::string file;    ///< with its folder: "matmul/03_tile.cu"; empty when the line is unknown
  int line = 0;        ///< from 1
  std::string inside;  ///< "kernels/warp.cuh:31" when that line calls a helper which was inlined there
};

/// `frames`: "FILE:LINE (discriminator 3)" of an instruction and of the calls that were inlined there, the innermost
/// first, as `addr2line -i` prints them. The line is that of a .cu file where there is one.
CodeLine code_line(const std::vector<std::string>& frames);

/// "matmul/03_tile.cu:31 (in kernels/warp.cuh:31)"; what stands for the line of `instruction`, an address in the
/// program's file, while it is unknown.
std::string to_string(const CodeLine& line, uint64_t instruction);

/// Puts lines where such a text has instructions of `program`: behind a grader's walls a program cannot ask addr2line.
/// Names of files come from the program, so they can hold anything.
std::string with_lines(std::string text, const std::filesystem::path& program);

}  // namespace rungs
