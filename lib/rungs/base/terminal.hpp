/// What a person at a terminal sees, and a pipe does not.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace rungs {

/// A person may be looking at this stream.
bool is_terminal(std::FILE* stream);

/// Colours belong on this stream: it is a terminal, and NO_COLOR is not set (no-color.org).
bool wants_colour(std::FILE* stream);

/// A bar on stderr where that is a terminal, nothing elsewhere nor for a total of 0. Gone when it ends.
class Progress {
 public:
  Progress(std::string label, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void advance(int64_t by = 1);
  /// So much is done; of how much may have changed, too.
  void set(int64_t done, int64_t total);

 private:
  void draw();

  std::string label_;
  int64_t done_ = 0, total_;
  int drawn_ = -1;  // percent on the screen
  bool shown_;
};

}  // namespace rungs
