/// Waits for a file to be saved, in whichever way an editor does that.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rungs {

/// Watches the folder of a file with inotify, so that editors which write another file and rename it are seen as well;
/// where the file is a link, the folder of what it leads to, too.
class FolderWatch {
 public:
  /// \throws FileError when the folder cannot be watched
  explicit FolderWatch(const std::filesystem::path& path);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  int file() const { return file_; }  ///< for poll
  /// Takes in what has happened: whether any of it was about the file. \throws FileError when the folder is gone
  bool changed();

 private:
  void add(const std::filesystem::path& folder);

  int file_;
  std::filesystem::path path_;
  std::vector<std::string> names_;
};

}  // namespace rungs
