#include "tensor/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <utility>

#include "tensor/error.hpp"

namespace rungs {

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

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void write_whole(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write) {
  const std::filesystem::path part = path.string() + fmt::format(".part{}", getpid());
  try {
    std::ofstream file(part, std::ios::binary);
    if (!file) fail(path, "cannot be written");
    write(file);
    file.close();
    if (!file) fail(path, "could not be written to the end");
    std::filesystem::rename(part, path);
  } catch (const std::filesystem::filesystem_error&) {
    std::filesystem::remove(part);
    fail(path, "cannot be written");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    throw;
  }
}

}  // namespace rungs
