// The files of a fuzzer, in memory: what a reader opens, maps or receives is served here, without the system. That
// takes three quarters of the time; and where a mapped file has the rest of a page behind its last byte,
// AddressSanitizer has put what it watches behind these. The linker sends the calls here (--wrap, CMakeLists.txt).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "fuzz.hpp"
#include "rungs/base/file.hpp"

namespace rungs::fuzz {
namespace {

struct File {
  std::string path;
  std::string_view content;
  size_t read = 0;  // bytes that were received
};
std::vector<File> files;

/// Above every descriptor that the system gives out.
constexpr int first_descriptor = 1 << 30;

File* file_of(int fd) {
  const size_t i = size_t(fd) - first_descriptor;
  return fd >= first_descriptor && i < files.size() ? &files[i] : nullptr;
}

/// What is mapped at present.
std::vector<void*> mappings;

}  // namespace

std::filesystem::path file(const char* name, std::string_view content) {
  std::filesystem::path path = folder() / name;
  auto at = std::find_if(files.begin(), files.end(), [&](const File& f) { return f.path == path.native(); });
  if (at == files.end()) {
    std::ofstream(path, std::ios::binary);  // it is there, for those who only ask that
    at = files.insert(at, {path.native(), "in memory"});
    if (read_text(path) != at->content)
      throw Error("the linker does not send open and mmap to tests/fuzz/in_memory.cpp");
  }
  at->content = content;
  return path;
}

extern "C" {

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i].path == path) return files[i].read = 0, first_descriptor + int(i);
  va_list rest;
  va_start(rest, flags);
  const auto mode = flags & O_CREAT ? va_arg(rest, mode_t) : mode_t{};
  va_end(rest);
  return __real_open(path, flags, mode);
}

int __real_close(int fd);
int __wrap_close(int fd) { return file_of(fd) ? 0 : __real_close(fd); }

int __real_fstat(int fd, struct stat* info);
int __wrap_fstat(int fd, struct stat* info) {
  const File* f = file_of(fd);
  if (!f) return __real_fstat(fd, info);
  *info = {};
  info->st_mode = S_IFREG;
  info->st_size = off_t(f->content.size());
  return 0;
}

void* __real_mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset);
void* __wrap_mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  const File* f = file_of(fd);
  if (!f) return __real_mmap(at, size, protection, flags, fd, offset);
  mappings.push_back(std::malloc(size));
  return std::memcpy(mappings.back(), f->content.data(), size);
}

int __real_munmap(void* begin, size_t size);
int __wrap_munmap(void* begin, size_t size) {
  const auto at = std::find(mappings.begin(), mappings.end(), begin);
  if (at == mappings.end()) return __real_munmap(begin, size);
  std::free(begin);
  mappings.erase(at);
  return 0;
}

ssize_t __real_readv(int fd, const iovec* parts, int count);
ssize_t __wrap_readv(int fd, const iovec* parts, int count) {
  File* f = file_of(fd);
  if (!f) return __real_readv(fd, parts, count);
  const size_t before = f->read;
  for (int i = 0; i < count; ++i)
    f->read += f->content.copy(static_cast<char*>(parts[i].iov_base), parts[i].iov_len, f->read);
  return ssize_t(f->read - before);
}

}  // extern "C"

}  // namespace rungs::fuzz
