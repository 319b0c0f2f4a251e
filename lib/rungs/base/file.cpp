#include "rungs/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
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
}

MappedFile::MappedFile(MappedFile&& o) noexcept { *this = std::move(o); }

MappedFile& MappedFile::operator=(MappedFile&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<std::byte*>(data_), size_);
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
