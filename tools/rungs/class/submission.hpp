/// What people handed in: a file, a folder or an archive for each of them, as it lies in one folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rungs {

/// A source file that was handed in.
struct SubmittedFile {
  std::string path;  ///< within the submission: "work/06_causal_mask.cpp"
  std::string text;
};

/// What one person handed in.
struct Submission {
  std::string name;  ///< "ada"; a second one of that name is called "ada (2)"
  std::filesystem::path from;
  std::vector<SubmittedFile> files = {};
  std::string problem = {};  ///< one sentence, where it could not be read
};

/// How much of a submission is read.
struct SubmissionLimits {
  size_t entries = 2000;               ///< files and folders
  uint64_t file_bytes = 1 << 20;       ///< of a source file
  uint64_t unpacked_bytes = 64 << 20;  ///< of all files of an archive
};

/// Everything in a folder, in the order of the names, links not followed. `ignored` gets the names of the files that
/// are no submission, such as a table of grades. \throws FileError when the folder cannot be read
std::vector<Submission> submissions_in(const std::filesystem::path& folder, std::vector<std::string>& ignored,
                                       const SubmissionLimits& limits = {});

/// The source files of a zip or tar archive, however it is compressed; nothing is written to the disk. \throws Error
/// with one sentence for what leads out of the archive, links, more than the limits, and what is no archive; when this
/// program was built without libarchive.
std::vector<SubmittedFile> files_of_archive(const std::filesystem::path& archive, const SubmissionLimits& limits = {});

/// Its name ends as that of a C++ or CUDA source file.
bool is_source(const std::filesystem::path& path);

/// Which file is that of a lesson ("06_causal_mask", ".cpp"): the one that has the lesson's name, or, where `only` this
/// lesson is asked for, the only source file. \throws Error when there is none, or more than one that could be it
const SubmittedFile& file_of_lesson(const Submission& submission, const std::string& lesson, const std::string& ending,
                                    bool only);

}  // namespace rungs
