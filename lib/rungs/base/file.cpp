#include "rungs/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "rungs/base/error.hpp"

namespace rungs {

namespace fs = std::filesystem;

[[noreturn]] static void fail(const std::filesystem::path& path, std::string_view what) {
  throw FileError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

namespace {

/// What is mapped at present, for a signal handler to look through.
struct Mapping {
  std::atomic<const std::byte*> begin{nullptr};
  size_t size;
  char path[PATH_MAX];
};
std::array<Mapping, 256> mappings;  // one more file is mapped all the same, and not named

void remember(const std::byte* begin, size_t size, const fs::path& path) {
  for (Mapping& m : mappings) {
    if (m.begin || path.native().size() >= sizeof m.path) continue;
    m.size = size;
    std::strcpy(m.path, path.c_str());
    m.begin = begin;
    return;
  }
}

void forget(const std::byte* begin) {
  for (Mapping& m : mappings)
    if (m.begin == begin) m.begin = nullptr;
}

void say(const char* text) { [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text)); }

extern "C" void on_bus_error(int number, siginfo_t* info, void*) {
  for (const Mapping& m : mappings) {
    const std::byte* begin = m.begin;
    const auto* at = static_cast<const std::byte*>(info->si_addr);
    if (!begin || at < begin || at >= begin + m.size) continue;
    say("rungs: "), say(m.path), say(": became shorter while it was read\n");
    _exit(1);
  }
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// Removes a file when one of these signals ends the process.
class UnlessInterrupted {
 public:
  explicit UnlessInterrupted(const fs::path& path) {
    if (path.native().size() >= sizeof unfinished_) return;
    std::strcpy(unfinished_, path.c_str());
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;  // somebody else's to handle
      std::signal(number, remove_unfinished);
      taken_[size_t(number)] = true;
    }
  }
  ~UnlessInterrupted() {
    for (size_t number = 0; number < taken_.size(); ++number)
      if (taken_[number]) std::signal(int(number), SIG_DFL);
  }
  UnlessInterrupted(const UnlessInterrupted&) = delete;
  UnlessInterrupted& operator=(const UnlessInterrupted&) = delete;

 private:
  static void remove_unfinished(int number) {
    unlink(unfinished_);
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  static inline char unfinished_[PATH_MAX];
  std::array<bool, 32> taken_{};
};

}  // namespace

void name_files_cut_short() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer would wait for one
  if (fd < 0) fail(path, "cannot be opened");
  struct stat info {};
  if (fstat(fd, &info) == 0 && !S_ISREG(info.st_mode)) {
    close(fd);
    throw FileError(fmt::format("{}: is not a file", path.string()));
  }
  size_ = size_t(info.st_size);
  void* memory = size_ ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  const int error = errno;
  close(fd);
  if (memory == MAP_FAILED) errno = error, fail(path, "cannot be mapped");
  data_ = static_cast<const std::byte*>(memory);
  if (data_) remember(data_, size_, path);
}

MappedFile::MappedFile(MappedFile&& o) noexcept { *this = std::move(o); }

MappedFile& MappedFile::operator=(MappedFile&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

// The addresses stay reserved, so that the destructor unmaps nobody else's memory.
void MappedFile::keep_only(std::vector<std::span<const std::byte>> parts) {
  if (!data_) return;
  const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(data_), end = (begin + size_ + page - 1) / page * page;
  uintptr_t kept = begin;  // up to here it was decided
  const auto give_back = [&](uintptr_t until) {
    if (until <= kept) return;
    void* gap = mmap(reinterpret_cast<void*>(kept), until - kept, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (gap == MAP_FAILED) throw Error(fmt::format("a part of a file cannot be unmapped: {}", std::strerror(errno)));
  };
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
  for (const std::span<const std::byte> part : parts) {
    const auto first = reinterpret_cast<uintptr_t>(part.data()), last = first + part.size();
    if (part.empty() || first < begin || last > begin + size_) continue;
    give_back(first / page * page);
    kept = std::max(kept, (last + page - 1) / page * page);
  }
  give_back(end);
}

MappedFile::~MappedFile() {
  if (!data_) return;
  forget(data_);
  munmap(const_cast<std::byte*>(data_), size_);
}

std::filesystem::path weights_directory() {
  const char* named = std::getenv("RUNGS_WEIGHTS");
  return named ? std::filesystem::path(named) : std::filesystem::path(RUNGS_SOURCE_DIR) / "weights";
}

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void write_whole(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const auto write_to = [&](const fs::path& place) {
    std::ofstream file(place, std::ios::binary);
    if (!file) fail(path, "cannot be written");
    write(file);
    file.close();
    if (!file) fail(path, "could not be written to the end");
  };
  const bool there = fs::exists(path);
  if (there && !fs::is_regular_file(path)) return write_to(path);  // a device or a pipe: not to be replaced

  const fs::path target = there ? fs::canonical(path) : path;  // behind a link
  const fs::path part = target.string() + fmt::format(".part{}", getpid());
  const UnlessInterrupted removed(part);
  try {
    write_to(part);
    if (std::rename(part.c_str(), target.c_str()) != 0) fail(path, "cannot be written");
  } catch (...) {
    std::error_code ignored;
    fs::remove(part, ignored);
    throw;
  }
}

}  // namespace rungs
