#include "rungs/base/code_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "rungs/base/shell.hpp"

namespace rungs {

namespace {

constexpr std::string_view unknown_begins = "the instruction at 0x";
constexpr std::string_view unknown_ends = " (to see its line, install addr2line: the package binutils)";

/// The last folder and the name: operations have files of the same name.
std::string short_name(const std::string& path) {
  const size_t name = path.rfind('/');
  const size_t folder = name == std::string::npos || name == 0 ? std::string::npos : path.rfind('/', name - 1);
  return folder == std::string::npos ? path : path.substr(folder + 1);
}

}  // namespace

CodeLine code_line(const std::vector<std::string>& frames) {
  CodeLine found;
  for (const std::string& frame : frames) {
    const size_t colon = frame.rfind(':');
    if (colon == std::string::npos) continue;
    const std::string path = frame.substr(0, colon);
    const bool kernel = path.ends_with(".cu");
    // What CUDA and the standard library do for a kernel happens at the kernel's line.
    if (!kernel && (path.find("/kernels/emulator/") != std::string::npos || path.starts_with("/usr/"))) continue;
    const int line = std::atoi(frame.c_str() + colon + 1);
    if (line == 0) continue;
    if (!found.file.empty()) found.inside = found.file + ":" + std::to_string(found.line);
    found.file = short_name(path);
    found.line = line;
    if (kernel) break;
  }
  return found;
}

std::string to_string(const CodeLine& line, uint64_t instruction) {
  if (line.file.empty()) return fmt::format("{}{:x}{}", unknown_begins, instruction, unknown_ends);
  const std::string place = line.file + ":" + std::to_string(line.line);
  return line.inside.empty() ? place : place + " (in " + line.inside + ")";
}

std::string with_lines(std::string text, const std::filesystem::path& program) {
  constexpr size_t most_digits = 8;
  for (size_t at = 0; (at = text.find(unknown_begins, at)) != text.npos;) {
    const size_t digits = at + unknown_begins.size();
    const size_t end = std::min(text.find_first_not_of("0123456789abcdef", digits), text.size());
    if (end == digits || end - digits > most_digits || text.compare(end, unknown_ends.size(), unknown_ends) != 0) {
      at = digits;
      continue;
    }
    const std::string address = text.substr(digits, end - digits);
    std::vector<std::string> frames;
    run_command(fmt::format("addr2line -i -e {} {} 2>/dev/null </dev/null", shell_word(program.string()), address),
                [&](const std::string& line) { frames.push_back(line); });
    const std::string line = to_string(code_line(frames), std::strtoull(address.c_str(), nullptr, 16));
    text.replace(at, end + unknown_ends.size() - at, line);
    at += line.size();  // a file may have any name, such a text too
  }
  return text;
}

}  // namespace rungs
