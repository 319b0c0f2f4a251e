// watch: save, and the verdict appears.
#include <fmt/chrono.h>
#include <fmt/color.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>

#include "check_process.hpp"
#include "commands.hpp"
#include "fold.hpp"
#include "folder_watch.hpp"
#include "hints.hpp"
#include "keyboard.hpp"
#include "page.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

class Watch {
 public:
  explicit Watch(Lesson lesson) : lesson_(std::move(lesson)) {
    if (is_terminal(stdout) && isatty(0)) keyboard_.emplace();
  }
  int run();

 private:
  void go_to(Lesson lesson);
  void saved();
  void check();
  void verdict();
  void draw(const std::string& status);
  void say(const std::string& text);
  int wait();
  void on_signal(int signal);
  void on_key(char key);
  void next();
  void reset();
  void difference();
  void solution();
  void open_page();
  void page_in_terminal(const std::string& text);

  Lesson lesson_;
  Signals signals_;
  std::optional<Keyboard> keyboard_ = {};
  std::unique_ptr<FolderWatch> folder_ = {};
  std::unique_ptr<CheckProcess> check_ = {};
  Clock::time_point saved_at_ = {};
  std::string checked_ = {};                        // the content of the file
  std::string text_ = {}, below_ = {}, when_ = {};  // the verdict, what a key has asked for, when it was
  bool passed_ = false, asked_reset_ = false, done_ = false;
  int ended_by_ = 0;
};

std::string dimmed(const std::string& text) {
  return wants_colour(stdout) ? fmt::format(fmt::emphasis::faint, "{}", text) : text;
}

std::string number_of(const Lesson& lesson) { return lesson.short_name(); }

int Watch::run() {
  go_to(lesson_);
  while (!done_) {
    const int signal = wait();
    if (signal != 0) on_signal(signal);
  }
  check_.reset();
  if (keyboard_) fmt::print("\n");
  std::fflush(stdout);
  return ended_by_ ? 128 + ended_by_ : 0;
}

void Watch::go_to(Lesson lesson) {
  check_.reset();
  lesson_ = std::move(lesson);
  fs::create_directories(lesson_.mine.parent_path());
  folder_ = std::make_unique<FolderWatch>(lesson_.mine);
  checked_.clear(), text_.clear(), below_.clear(), when_.clear();
  passed_ = false;
  if (!keyboard_) fmt::print("Watching {}; Ctrl-C ends.\n", short_path(lesson_.mine));
  saved();
}

/// The file may be another one now, or gone.
void Watch::saved() {
  saved_at_ = Clock::now();
  std::string content;
  try {
    content = read_text(lesson_.mine);
  } catch (const FileError&) {
    check_.reset(), checked_.clear();
    passed_ = false;
    text_ = nothing_there(lesson_) + "\n";
    return keyboard_ ? draw("waiting for it") : say(text_);
  }
  if (!checked_.empty() && content == checked_) return;
  checked_ = content;
  check();
}

void Watch::check() {
  below_.clear(), asked_reset_ = false;
  check_.reset();
  if (keyboard_) draw("checking ...");
  check_ = std::make_unique<CheckProcess>(lesson_, wants_colour(stdout), keyboard_.has_value());
}

void Watch::verdict() {
  const Checked c = check_->result();
  check_.reset();
  passed_ = c.passed, text_ = c.text;
  const double seconds = std::chrono::duration<double>(Clock::now() - saved_at_).count();
  when_ = fmt::format("{:%H:%M:%S}  {:.2f} s after the save: build {:.2f}, cases {:.2f}",
                      fmt::localtime(std::time(nullptr)), seconds, c.build_seconds, c.grade_seconds);
  keyboard_ ? draw(when_) : say(text_ + when_ + "\n");
}

void Watch::say(const std::string& text) {
  fmt::print("\n{}", text);
  std::fflush(stdout);
}

void Watch::draw(const std::string& status) {
  const ScreenSize size = screen_size();
  const std::string keys =
      fmt::format("h hint  n next  d difference  {}r reset  o page  q quit", passed_ ? "s solution  " : "");
  const std::vector<std::string> bar = folded(keys, size.columns), state = folded(status, size.columns);
  const size_t room = size.rows - std::min(size.rows - 1, bar.size() + state.size() + 1);
  const std::string number = number_of(lesson_);
  std::vector<std::string> extra = folded(below_, size.columns);
  if (!extra.empty())
    extra = shortened({extra.begin(), extra.end()}, room > 6 ? room - 4 : 3, size.columns, typed() + " read " + number);
  std::vector<std::string> lines = folded(text_, size.columns);
  lines = shortened(std::move(lines), room > extra.size() + 1 ? room - extra.size() - 1 : 1, size.columns,
                    typed() + " check " + number);
  std::string screen = "\033[H\033[2J";
  for (const std::string& line : lines) screen += line + "\n";
  if (!extra.empty()) screen += "\n";
  for (const std::string& line : extra) screen += line + "\n";
  screen += "\n";
  for (const std::string& line : bar) screen += dimmed(line) + "\n";
  for (size_t i = 0; i < state.size(); ++i) screen += dimmed(state[i]) + (i + 1 < state.size() ? "\n" : "");
  fmt::print("{}", screen);
  std::fflush(stdout);
}

/// Waits for a save, a key, the end of a check or a signal, and sees to the first three.
int Watch::wait() {
  pollfd files[] = {{signals_.file(), POLLIN, 0},
                    {folder_->file(), POLLIN, 0},
                    {check_ ? check_->file() : -1, POLLIN, 0},
                    {keyboard_ ? 0 : -1, POLLIN, 0}};
  poll(files, std::size(files), -1);
  if (files[0].revents) return signals_.next();
  if (files[1].revents) {
    usleep(20'000);  // an editor takes several steps to save
    if (folder_->changed()) saved();
  }
  if (files[2].revents && check_ && check_->ended()) verdict();
  if (files[3].revents)
    for (const char key : keyboard_->pressed()) on_key(key);
  return 0;
}

void Watch::on_signal(int signal) {
  if (signal == SIGWINCH || signal == SIGCONT) {
    if (keyboard_) keyboard_->take_again(), draw(check_ ? "checking ..." : when_);
  } else if (signal == SIGTSTP) {
    if (keyboard_) keyboard_->give_back(), fmt::print("\n"), std::fflush(stdout);
    raise(SIGSTOP);
  } else {
    done_ = true, ended_by_ = signal;
  }
}

void Watch::on_key(char key) {
  if (key != 'r') asked_reset_ = false;
  switch (key) {
    case 'q':
    case '\4':
      done_ = true;
      return;
    case 'h':
      below_ = next_hint(lesson_, wants_colour(stdout));
      break;
    case 'n':
      return next();
    case 'd':
      return difference();
    case 's':
      return solution();
    case 'r':
      return reset();
    case 'o':
      return open_page();
    default:
      return;
  }
  draw(check_ ? "checking ..." : when_);
}

void Watch::next() {
  if (const auto after = lesson_after(lesson_); passed_ && after) {
    if (!fs::exists(after->mine)) copy_starter(*after);
    return go_to(*after);
  }
  below_ = passed_ ? "This is the last lesson." : "The next lesson comes when this one has passed.";
  draw(when_);
}

void Watch::reset() {
  if (!fs::exists(lesson_.mine)) return;
  if (!asked_reset_) {
    asked_reset_ = true;
    below_ =
        fmt::format("Press r again, and {} is the starter again; what you have is kept.", short_path(lesson_.mine));
    return draw(when_);
  }
  const fs::path kept = put_starter_back(lesson_);
  folder_->changed();  // that was us
  saved();
  below_ = fmt::format("What you had is in {}.", short_path(kept));
  draw(check_ ? "checking ..." : when_);
}

void Watch::page_in_terminal(const std::string& text) {
  keyboard_->give_back();
  const bool shown = show_in_pager(text);
  while (signals_.next() != 0) {
  }  // Ctrl-C was the pager's
  keyboard_->take_again();
  if (!shown) below_ = "No pager is here: neither $PAGER nor less can be started.";
  draw(check_ ? "checking ..." : when_);
}

void Watch::difference() {
  const std::string text = difference_from_previous(lesson_);
  if (!text.empty()) return page_in_terminal(text);
  below_ = "There is no file of the previous lesson to compare with.";
  draw(when_);
}

void Watch::solution() {
  if (passed_ && fs::exists(lesson_.solution)) return page_in_terminal(read_text(lesson_.solution));
  below_ = passed_ ? "This copy of Rungs has no solutions." : "The solution can be seen when yours has passed.";
  draw(when_);
}

void Watch::open_page() {
  if (!has_browser() || !open_in_browser(browser_page(lesson_)))
    return page_in_terminal(page_text(lesson_, screen_size().columns, wants_colour(stdout)));
  below_ = "Opened in the browser.";
  draw(when_);
}

}  // namespace

int watch_lesson(const std::string& word) {
  Lesson lesson = lesson_or_last(word);
  if (!fs::exists(lesson.mine)) throw UsageError(nothing_there(lesson));
  return Watch(std::move(lesson)).run();
}

}  // namespace rungs
