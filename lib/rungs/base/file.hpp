/// Reading a file without copying it, and writing one so that it is either whole or not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace rungs {

/// A file mapped into memory, read only, for as long as this object lives.
class MappedFile {
 public:
  MappedFile() = default;
  /// \throws FileError when the file is missing or cannot be read.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& o) noexcept;
  MappedFile& operator=(MappedFile&& o) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Unmaps every page that holds none of these bytes; from now on they alone may be read.
  void keep_only(std::vector<std::span<const std::byte>> parts);

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// The folder weights/ of this source tree, or the one that the environment variable RUNGS_WEIGHTS names.
std::filesystem::path weights_directory();

/// From now on, reading a mapped file that somebody has cut short meanwhile ends the program with a sentence that names
/// it, in place of a bus error.
void name_files_cut_short();

/// The whole text of a file. \throws FileError
std::string read_text(const std::filesystem::path& path);

/// Writes through a temporary file beside `path` and renames it, so that no half-written file is ever left, by Ctrl-C
/// neither. \throws FileError
void write_whole(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

}  // namespace rungs
