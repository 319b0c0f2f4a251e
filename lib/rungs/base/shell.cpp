#include "rungs/base/shell.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "rungs/base/error.hpp"

namespace rungs {

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::vector<std::string> shell_words(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i], next = i + 1 < command.size() ? command[i + 1] : 0;
    if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    // Between double quotes a backslash stands for itself, but before these.
    const bool escapes = c == '\\' && next && quote != '\'' && (!quote || std::strchr("$`\"\\", next));
    if (escapes)
      words.back() += command[++i];
    else if (c == quote)
      quote = 0;
    else if (!quote && (c == '\'' || c == '"'))
      quote = c;
    else
      words.back() += c;
  }
  return words;
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
