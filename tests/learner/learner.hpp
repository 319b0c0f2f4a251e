/// A learner at the command line.
#pragma once

#include <sys/wait.h>

#include <cstdlib>

#include "learner/lessons.hpp"
#include "rungs/base/file.hpp"
#include "support.hpp"

namespace rungs::test {

/// A learner, whose files are in a folder that is gone afterwards.
struct Learner {
  Folder work;
  std::string text, out;  // of the last command: all that it said, and its standard output alone

  int types(const std::string& words) {
    Folder output;
    const std::string said = output / "out", complained = output / "err";
    const std::string command = "NO_COLOR=1 RUNGS_WORK='" + work.path().string() + "' '" + program("rungs").string() +
                                "' " + words + " >'" + said + "' 2>'" + complained + "'";
    const int status = std::system(command.c_str());
    out = read_text(said);
    text = read_text(complained) + out;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::filesystem::path file(const std::string& lesson) const { return work / (lesson + lesson_called(lesson).ending); }
  void writes(const std::string& lesson, const std::string& code) { write_file(file(lesson), code); }
};

/// A file with a change. Fails where `from` is not in it.
inline std::string with(std::string code, const std::string& from, const std::string& to) {
  const size_t at = code.find(from);
  REQUIRE(at != code.npos);
  return code.replace(at, from.size(), to);
}

inline std::string solution_of(const std::string& lesson) { return read_text(lesson_called(lesson).solution); }

}  // namespace rungs::test
