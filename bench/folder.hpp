/// Where a benchmark keeps the models that it makes.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "rungs/base/error.hpp"

namespace rungs {

/// A folder for temporary files that is gone afterwards.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rungs_bench_XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error("no folder can be made in " + name);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace rungs
