#include "sanitizer.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "rungs/base/file.hpp"
#include "rungs/base/shell.hpp"
#include "within_time.hpp"

namespace rungs {

namespace fs = std::filesystem;

// A report is a line, and lines set in below it: where it happened first. Around them are lines about the run itself.
//   ========= Invalid __global__ write of size 4 bytes
//   =========     at add_kernel(float *)+0x160 in 16_cuda_first.cu:34        (before CUDA 12: at 0x160 in ...)
//   =========     by thread (0,0,0) in block (0,0,0)
//   =========     Saved host backtrace up to driver entry point at kernel launch time
//   =========         Host Frame: main in main.cu:12 [0xab50] in main
Sanitized read_sanitizer_log(const std::string& log, const fs::path& file) {
  static const std::regex summary("ERROR SUMMARY: (\\d+) error"),
      thread("by thread (\\([^)]*\\) in block \\([^)]*\\))");
  const std::string name = file.filename().string(), bar = "=========";
  std::istringstream lines(log);
  std::string head, what, at, by, where, complaint;
  int errors = -1;
  bool in_first = false;
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(bar)) continue;
    const size_t begin = line.find_first_not_of(' ', bar.size());
    if (begin == line.npos) continue;
    const std::string text = line.substr(begin);
    if (begin == bar.size() + 1) {
      head = text, in_first = false;
      if (std::regex_search(text, match, summary))
        errors = std::stoi(match[1]);
      else if (text.starts_with("Error: ") && complaint.empty())
        complaint = text.substr(7);
      continue;
    }
    if (what.empty() && text.starts_with("at ")) what = head, at = text, in_first = true;
    if (!in_first || text.starts_with("Host Frame")) continue;
    if (by.empty() && std::regex_search(text, match, thread)) by = ", by thread " + match[1].str();
    const size_t place = text.find(name + ":");
    if (where.empty() && place != text.npos)
      where = fmt::format(", in {}, line {}", name, std::atoi(text.c_str() + place + name.size() + 1));
  }
  if (!what.empty()) {
    const std::string more = errors > 1 ? fmt::format("; {} reports in all", errors) : "";
    return {Sanitized::found, what + by + (where.empty() ? ", " + at.substr(0, 160) : where) + more};
  }
  if (errors == 0) return {Sanitized::clean, ""};
  return {Sanitized::not_watched, complaint.empty() ? "it printed no summary" : complaint};
}

Sanitized sanitize(const Lesson& lesson, const std::vector<std::string>& cases, const fs::path& beside) {
  const fs::path log = lesson.mine_runner.string() + ".sanitizer";
  Sanitized said;
  for (const std::string& name : cases) {
    fs::remove(log);
    // Not in the foreground, so that what it has started ends with it; calls that fail are said by the check itself.
    const std::string command = fmt::format(
        "ulimit -c 0; PATH=\"$PATH\":{} timeout {} compute-sanitizer --tool memcheck --report-api-errors no --log-file "
        "{} {} --case {} >/dev/null 2>&1 </dev/null",
        shell_word(beside.string()), seconds_on_gpu, shell_word(log.string()), shell_word(lesson.mine_runner.string()),
        shell_word((lesson.references / name).string()));
    const int status = exit_status(std::system(command.c_str()));
    constexpr int not_found = 127;
    if (status == not_found) return {Sanitized::not_watched, "it is not installed"};
    said = read_sanitizer_log(fs::exists(log) ? read_text(log) : "", lesson.mine);
    if (said.how == Sanitized::not_watched && status == too_late)
      said.says = fmt::format("the case {} was still running under it after {} s", name, seconds_on_gpu);
    if (said.how != Sanitized::clean) break;
  }
  fs::remove(log);
  return said;
}

}  // namespace rungs
