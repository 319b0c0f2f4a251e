#include "folder_watch.hpp"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rungs/base/error.hpp"

namespace rungs {

namespace fs = std::filesystem;

FolderWatch::FolderWatch(const fs::path& path) : file_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), path_(path) {
  add(path.parent_path());
  names_.push_back(path.filename());
  std::error_code none;
  const fs::path real = fs::canonical(path, none);
  if (none || real == path) return;
  add(real.parent_path());
  names_.push_back(real.filename());
}

FolderWatch::~FolderWatch() { close(file_); }

void FolderWatch::add(const fs::path& folder) {
  constexpr uint32_t what = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
  if (inotify_add_watch(file_, folder.c_str(), what) >= 0) return;
  const int error = errno;
  close(file_);
  throw FileError(fmt::format("{}: cannot be watched: {}{}", folder.string(), std::strerror(error),
                              error == ENOSPC ? "; fs.inotify.max_user_watches says how many folders may be" : ""));
}

bool FolderWatch::changed() {
  alignas(inotify_event) char events[8192];
  bool ours = false;
  for (ssize_t n; (n = read(file_, events, sizeof events)) > 0;) {
    for (char* at = events; at < events + n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF))
        throw FileError(path_.parent_path().string() + " is gone, so nothing can be saved there any more");
      ours = ours || (event->mask & IN_Q_OVERFLOW) ||
             (event->len > 0 && std::find(names_.begin(), names_.end(), event->name) != names_.end());
      at += sizeof *event + event->len;
    }
  }
  return ours;
}

}  // namespace rungs
