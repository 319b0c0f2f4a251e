#include "check_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "keyboard.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/text.hpp"

namespace rungs {

/// "1 0.512 0.201", a line that a program reads, and then the text.
static std::string said_of(Lesson lesson, bool colour) {
  try {
    const Checked c = check_file(lesson, colour, true);
    return fmt::format("{:d} {:.3f} {:.3f}\n{}", c.passed, c.build_seconds, c.grade_seconds, c.text);
  } catch (const std::exception& e) {
    return fmt::format("0 0 0\nrungs: {}\n", e.what());
  }
}

CheckProcess::CheckProcess(const Lesson& lesson, bool colour, bool quiet) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("no pipe from a check");
  std::fflush(stdout);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);  // so that the build ends with it
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    Signals::let_through();
    close(ends[0]);
    if (quiet) dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    const std::string text = said_of(lesson, colour);
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = write(ends[1], text.data() + at, text.size() - at);
      if (n <= 0) break;
      at += size_t(n);
    }
    _exit(0);
  }
  close(ends[1]);
  from_ = ends[0];
  if (pid_ < 0) close(from_), throw Error("no process could be started for a check");
  setpgid(pid_, pid_);
  fcntl(from_, F_SETFL, O_NONBLOCK);
}

CheckProcess::~CheckProcess() {
  close(from_);
  kill(-pid_, SIGTERM);  // ninja removes what it had not finished
  for (int waited_ms = 0; waited_ms < 2000; waited_ms += 5) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
    usleep(5000);
  }
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool CheckProcess::ended() {
  char part[4096];
  ssize_t n;
  while ((n = read(from_, part, sizeof part)) > 0) said_.append(part, size_t(n));
  return n == 0;
}

Checked CheckProcess::result() const {
  Checked c;
  int passed = 0;
  const size_t end = said_.find('\n');
  if (end == said_.npos || std::sscanf(said_.c_str(), "%d %lf %lf", &passed, &c.build_seconds, &c.grade_seconds) != 3) {
    c.text = "rungs: the check ended without a verdict\n";
    return c;
  }
  c.passed = passed == 1;
  c.text = said_.substr(end + 1);
  return c;
}

}  // namespace rungs
