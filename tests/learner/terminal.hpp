/// A program at a terminal, whose keys a test presses and whose screen it reads.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "support.hpp"

namespace rungs::test {

class Terminal {
 public:
  /// Runs a command of the shell.
  Terminal(const std::string& command, int columns, int rows) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns), size.ws_row = static_cast<unsigned short>(rows);
    REQUIRE(openpty(&ours_, &theirs_, nullptr, nullptr, &size) == 0);
    tcgetattr(theirs_, &before_);
    pid = fork();
    if (pid == 0) {
      setsid();
      ioctl(theirs_, TIOCSCTTY, 0);
      for (const int to : {0, 1, 2}) dup2(theirs_, to);
      close(ours_), close(theirs_);
      execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
      _exit(127);
    }
  }
  ~Terminal() {
    if (pid > 0) kill(pid, SIGKILL), waitpid(pid, nullptr, 0);
    close(ours_), close(theirs_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void press(const std::string& keys) { REQUIRE(write(ours_, keys.data(), keys.size()) == ssize_t(keys.size())); }

  /// Waits until the screen shows this; what it showed instead is in `screen`.
  bool shows(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (screen.find(text) == screen.npos) {
      if (std::chrono::steady_clock::now() > until || !read_more(1000)) return false;
    }
    return true;
  }
  /// What comes from now on is a new screen.
  void forget() { screen.clear(); }

  /// Waits for the end. Gives the status, 128 and the signal where one ended it.
  int end() {
    while (waitpid(pid, &status_, WNOHANG) == 0) read_more(50);
    pid = -1;
    while (read_more(50) && drained_ == 0) {
    }
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }
  /// Its keys are again as they were before the program began.
  bool as_before() const {
    termios now{};
    tcgetattr(theirs_, &now);
    return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag;
  }
  bool reads_keys() const {
    termios now{};
    tcgetattr(theirs_, &now);
    return !(now.c_lflag & ECHO) && !(now.c_lflag & ICANON);
  }

  std::string screen;  ///< since it was last cleared
  pid_t pid = -1;

 private:
  bool read_more(int milliseconds) {
    pollfd file{ours_, POLLIN, 0};
    drained_ = poll(&file, 1, milliseconds) <= 0;
    if (drained_) return true;
    char part[4096];
    const ssize_t n = read(ours_, part, sizeof part);
    if (n <= 0) return false;
    screen.append(part, size_t(n));
    const size_t cleared = screen.rfind("\033[2J");
    if (cleared != screen.npos) screen.erase(0, cleared + 4);
    return true;
  }

  int ours_ = -1, theirs_ = -1, status_ = 0, drained_ = 0;
  termios before_{};
};

}  // namespace rungs::test
