/// A terminal whose keys are read one by one, for as long as a program shows a screen of its own.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace rungs {

/// Standard input without echo and without waiting for Enter; as it was before, when this object goes.
class Keyboard {
 public:
  Keyboard();
  ~Keyboard();
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  void give_back();   ///< to another program, or while this one is stopped
  void take_again();  ///< after that
  /// The keys that were pressed; arrows and other sequences are left out. "\4": the terminal is gone, or Ctrl-D.
  std::string pressed() const;

 private:
  termios before_{};
};

/// While this object lives, signals that end or change a program at a terminal are read from a file instead.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int file() const { return file_; }
  /// The next that came; 0: none.
  int next() const;
  /// In a child, before it becomes another program: signals reach it again.
  static void let_through();

 private:
  int file_;
};

/// Columns and rows of the terminal at standard output; 80 and 24 where it does not say.
struct ScreenSize {
  size_t columns, rows;
};
ScreenSize screen_size();

/// Runs a program in the foreground, with its arguments, and waits for it. False: it could not be started.
bool run_in_foreground(const std::vector<std::string>& command, const std::string& input = "");

/// Shows a text in the reader's own pager, $PAGER or less; false where there is none.
bool show_in_pager(const std::string& text);

}  // namespace rungs
