#include "kernels/emulator/checker/source_line.hpp"

#include <link.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

namespace rungs::emulator {
namespace {

/// addr2line, started at the first question and kept: it reads the program's debug information but once.
class Addr2Line {
 public:
  Addr2Line() {
    int ends[2];  // a socket rather than a pipe: writing to a program that has died must not kill this one
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    std::array<char, 4096> program{};
    if (readlink("/proc/self/exe", program.data(), program.size() - 1) < 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string words[] = {"addr2line", "-a", "-i", "-e", program.data()};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
    pid_t process = 0;
    if (posix_spawnp(&process, "addr2line", &actions, nullptr, arguments, environ) == 0) {
      question_ = ends[0];
      answer_ = fdopen(ends[0], "r");
    }
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
  }

  /// "FILE:LINE" of the site and of the calls that were inlined there, the innermost first. Empty: not known.
  std::vector<std::string> ask(uint32_t site) {
    std::vector<std::string> frames;
    if (!answer_) return frames;
    // -a repeats each address before its frames, so that a second address, 0, marks where the frames of the first end.
    char text[64];
    const int length = std::snprintf(text, sizeof text, "0x%x\n0x0\n", unsigned(site));
    if (send(question_, text, size_t(length), MSG_NOSIGNAL) != length) return frames;
    std::array<char, 8192> line{};
    bool first = true;
    while (std::fgets(line.data(), int(line.size()), answer_)) {
      if (std::strncmp(line.data(), "0x", 2) != 0) {
        frames.emplace_back(line.data(), std::strcspn(line.data(), "\n"));
      } else if (!first) {
        std::ignore = std::fgets(line.data(), int(line.size()), answer_);
        break;
      }
      first = false;
    }
    return frames;
  }

 private:
  int question_ = -1;
  FILE* answer_ = nullptr;
};

}  // namespace

const uintptr_t program_begin = [] {
  uintptr_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* program, size_t, void* result) {
        *static_cast<uintptr_t*>(result) = program->dlpi_addr;
        return 1;  // the first is the program itself
      },
      &bias);
  return bias;
}();

const CodeLine& source_line(uint32_t site) {
  static Addr2Line addr2line;
  static std::map<uint32_t, CodeLine> known;
  const auto [entry, fresh] = known.try_emplace(site);
  if (fresh && site) entry->second = code_line(addr2line.ask(site));
  return entry->second;
}

std::string source_text(uint32_t site) { return to_string(source_line(site), site); }

}  // namespace rungs::emulator
