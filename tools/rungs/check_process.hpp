/// A check in a process of its own, which whoever waits for it may end.
#pragma once

#include <sys/types.h>

#include <string>

#include "check.hpp"

namespace rungs {

/// `check_file`, running beside this program.
class CheckProcess {
 public:
  /// Starts. `quiet`: what it says while it works is not for the screen. \throws Error when no process can be started
  CheckProcess(const Lesson& lesson, bool colour, bool quiet);
  /// Ends it, with what it has started.
  ~CheckProcess();
  CheckProcess(const CheckProcess&) = delete;
  CheckProcess& operator=(const CheckProcess&) = delete;

  int file() const { return from_; }  ///< for poll
  /// Takes in what has come; true at the end.
  bool ended();
  /// After the end.
  Checked result() const;

 private:
  pid_t pid_ = -1;
  int from_ = -1;
  std::string said_;
};

}  // namespace rungs
