// completion: what a shell needs to complete words of the command line.
#include "completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/error.hpp"
#include "workspace.hpp"

namespace rungs {

namespace {

// ./rungs is completed like rungs: both shells look at a command's last name.
constexpr const char* bash = R"bash(# In ~/.bashrc: source <(./rungs completion bash)
_rungs() {
  local word=${COMP_WORDS[COMP_CWORD]}
  local words
  words=$("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _rungs rungs
)bash";

constexpr const char* zsh = R"zsh(# In ~/.zshrc, after compinit: source <(./rungs completion zsh)
_rungs() {
  local -a candidates
  candidates=(${(f)"$($words[1] completion words -- ${words[2,CURRENT-1]} 2>/dev/null)"})
  compadd -a candidates || _files
}
compdef _rungs rungs
)zsh";

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return bash;
  if (shell == "zsh") return zsh;
  throw UsageError(fmt::format("no completion for {}; there is one for bash and one for zsh", shell));
}

std::vector<std::string> lesson_numbers() {
  std::vector<std::string> numbers;
  for (const Lesson& l : all_lessons()) numbers.push_back(l.short_name());
  return numbers;
}

}  // namespace rungs
