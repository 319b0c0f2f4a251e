#include "rungs/base/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace rungs {

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

bool wants_colour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  return is_terminal(stream) && (!no_colour || !*no_colour);
}

Progress::Progress(std::string label, int64_t total)
    : label_(std::move(label)), total_(total), shown_(total > 0 && is_terminal(stderr)) {
  draw();
}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(int64_t by) {
  done_ = std::min(done_ + by, total_);
  draw();
}

void Progress::set(int64_t done, int64_t total) {
  total_ = total;
  shown_ = total > 0 && is_terminal(stderr);
  done_ = std::min(done, total);
  draw();
}

void Progress::draw() {
  if (!shown_) return;
  const auto percent = int(100 * done_ / total_);
  if (percent == drawn_) return;
  drawn_ = percent;
  constexpr int width = 30;
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i * 100 < percent * width ? "█" : "░";
  std::fprintf(stderr, "\r%s %s %3d%%\033[K", label_.c_str(), bar.c_str(), percent);
}

}  // namespace rungs
