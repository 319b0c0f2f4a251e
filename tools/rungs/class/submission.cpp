#include "submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "rungs/base/error.hpp"
#include "rungs/base/text.hpp"
#include "rungs/base/units.hpp"

namespace rungs {

namespace fs = std::filesystem;

bool is_source(const fs::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".cpp" || ending == ".cc" || ending == ".cu";
}

namespace {

bool is_archive(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr const char* endings[] = {".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst"};
  return std::any_of(std::begin(endings), std::end(endings), [&](const char* e) { return name.ends_with(e); });
}

std::string read_source(const fs::path& path, const std::string& called, const SubmissionLimits& limits) {
  const uint64_t bytes = fs::file_size(path);
  if (bytes > limits.file_bytes)
    throw Error(fmt::format("{} has {}; a file of a lesson has at most {}", called, in_units(int64_t(bytes)),
                            in_units(int64_t(limits.file_bytes))));
  std::string text(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), std::streamsize(bytes));
  if (!file) throw Error(fmt::format("{} could not be read", called));
  return text;
}

std::vector<SubmittedFile> files_of_folder(const fs::path& folder, const SubmissionLimits& limits) {
  std::vector<SubmittedFile> files;
  size_t entries = 0;
  uint64_t bytes = 0;
  for (fs::recursive_directory_iterator it(folder), end; it != end; ++it) {
    if (++entries > limits.entries) throw Error(fmt::format("it has more than {} files and folders", limits.entries));
    if (it->is_symlink() || !it->is_regular_file() || !is_source(it->path())) continue;
    const std::string path = fs::relative(it->path(), folder).string();
    files.push_back({path, read_source(it->path(), path, limits)});
    bytes += files.back().text.size();
    if (bytes > limits.unpacked_bytes)
      throw Error(fmt::format("its files have more than {}", in_units(int64_t(limits.unpacked_bytes))));
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

/// "ada" of "ada.tar.gz".
std::string name_without_ending(const fs::path& path) {
  std::string name = path.filename().string();
  for (const char* ending :
       {".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst", ".cpp", ".cc", ".cu"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - std::string(ending).size());
  return name;
}

Submission read_submission(const fs::directory_entry& entry, const SubmissionLimits& limits) {
  const fs::path& path = entry.path();
  Submission s{printable(name_without_ending(path)), path};
  try {
    if (entry.is_symlink())
      throw Error("it is a link, which is not followed");
    else if (entry.is_directory())
      s.files = files_of_folder(path, limits);
    else if (is_archive(path))
      s.files = files_of_archive(path, limits);
    else
      s.files = {{path.filename().string(), read_source(path, path.filename().string(), limits)}};
  } catch (const std::exception& e) {
    s.problem = printable(e.what());
  }
  return s;
}

}  // namespace

std::vector<Submission> submissions_in(const fs::path& folder, std::vector<std::string>& ignored,
                                       const SubmissionLimits& limits) {
  if (!fs::is_directory(folder)) throw FileError(fmt::format("{}: wanted a folder of submissions", folder.string()));
  std::vector<fs::directory_entry> entries(fs::directory_iterator(folder), {});
  std::sort(entries.begin(), entries.end());
  std::vector<Submission> all;
  std::set<std::string> names;
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".") || name == "__MACOSX") continue;
    if (!entry.is_symlink() && !entry.is_directory() &&
        (!entry.is_regular_file() || (!is_archive(entry.path()) && !is_source(entry.path())))) {
      ignored.push_back(printable(name));
      continue;
    }
    all.push_back(read_submission(entry, limits));
    const std::string called = all.back().name;
    for (int n = 2; !names.insert(all.back().name).second; ++n) all.back().name = fmt::format("{} ({})", called, n);
  }
  return all;
}

const SubmittedFile& file_of_lesson(const Submission& submission, const std::string& lesson, const std::string& ending,
                                    bool only) {
  std::vector<const SubmittedFile*> exact, alike, any;
  for (const SubmittedFile& file : submission.files) {
    const std::string name = fs::path(file.path).filename().string();
    if (!name.ends_with(ending) || name.find(".before_reset_") != name.npos) continue;
    any.push_back(&file);
    if (name == lesson + ending) exact.push_back(&file);
    if (name.find(lesson) != name.npos) alike.push_back(&file);
  }
  for (const auto* list : {&exact, &alike, &any}) {
    if (list->empty() || (list == &any && !only)) continue;
    if (list->size() == 1) return *list->front();
    throw Error(fmt::format("It has more than one file that could be {}{}: {} and {}.", lesson, ending,
                            printable((*list)[0]->path), printable((*list)[1]->path)));
  }
  throw Error(fmt::format("It has no file {}{}.", lesson, ending));
}

}  // namespace rungs
