#include "rungs/base/shell.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "rungs/base/error.hpp"

namespace rungs {

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

int exit_status(int waited) { return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited); }

Ran run_command(const std::string& command, const std::function<void(const std::string& line)>& hear) {
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw Error("no shell can be started for " + command);
  Ran ran{};
  char* line = nullptr;
  size_t room = 0;
  for (ssize_t n; (n = getline(&line, &room, pipe)) > 0; ran.output.append(line, size_t(n)))
    if (hear) hear({line, size_t(n)});
  std::free(line);
  ran.status = exit_status(pclose(pipe));
  return ran;
}

}  // namespace rungs
