#include "keyboard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace rungs {

Keyboard::Keyboard() {
  tcgetattr(0, &before_);
  take_again();
}

Keyboard::~Keyboard() { give_back(); }

void Keyboard::give_back() { tcsetattr(0, TCSADRAIN, &before_); }

void Keyboard::take_again() {
  termios keys = before_;
  keys.c_lflag &= ~tcflag_t(ICANON | ECHO);  // ISIG stays: Ctrl-C and Ctrl-Z are signals as everywhere
  keys.c_cc[VMIN] = 1, keys.c_cc[VTIME] = 0;
  tcsetattr(0, TCSADRAIN, &keys);
}

std::string Keyboard::pressed() const {
  char keys[64];
  const ssize_t n = read(0, keys, sizeof keys);
  if (n <= 0) return "\4";
  const std::string all(keys, size_t(n));
  return all.substr(0, all.find('\x1b'));
}

static sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT}) sigaddset(&set, s);
  return set;
}

Signals::Signals() {
  const sigset_t set = watched();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  file_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  close(file_);
  let_through();
}

int Signals::next() const {
  signalfd_siginfo info{};
  return read(file_, &info, sizeof info) == ssize_t(sizeof info) ? int(info.ssi_signo) : 0;
}

void Signals::let_through() {
  const sigset_t set = watched();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

ScreenSize screen_size() {
  winsize size{};
  if (ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

bool run_in_foreground(const std::vector<std::string>& command, const std::string& input) {
  const int text = input.empty() ? -1 : memfd_create("text", MFD_CLOEXEC);
  if (text >= 0) {
    for (size_t at = 0; at < input.size();) {
      const ssize_t n = write(text, input.data() + at, input.size() - at);
      if (n <= 0) break;
      at += size_t(n);
    }
    lseek(text, 0, SEEK_SET);
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    Signals::let_through();
    if (text >= 0) dup2(text, 0);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  if (text >= 0) close(text);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

bool show_in_pager(const std::string& text) {
  const char* pager = std::getenv("PAGER");
  if (pager && *pager) return run_in_foreground({"sh", "-c", pager}, text);
  return run_in_foreground({"less", "-R"}, text) || run_in_foreground({"more"}, text);
}

}  // namespace rungs
