// Archives that others made: read in memory, so that no entry can be written anywhere.
#include <fmt/format.h>

#include "rungs/base/error.hpp"
#include "rungs/base/text.hpp"
#include "rungs/base/units.hpp"
#include "submission.hpp"

#if defined(RUNGS_HAS_LIBARCHIVE)
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>
#endif

namespace rungs {

namespace fs = std::filesystem;

#if defined(RUNGS_HAS_LIBARCHIVE)

/// Ends reading an archive.
struct CloseArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

/// A name of an entry, which must stay within the archive.
static std::string checked_name(archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (!name || !*name) throw Error("the archive has an entry without a name");
  const fs::path path = name;
  const bool leads_out = path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (leads_out) throw Error(fmt::format("the archive has an entry that leads out of it: {}", printable(name)));
  const bool is_link = archive_entry_filetype(entry) == AE_IFLNK || archive_entry_hardlink(entry);
  if (is_link) throw Error(fmt::format("the archive has a link: {}", printable(name)));
  return name;
}

std::vector<SubmittedFile> files_of_archive(const fs::path& file, const SubmissionLimits& limits) {
  const std::unique_ptr<archive, CloseArchive> in(archive_read_new());
  archive_read_support_filter_all(in.get());
  archive_read_support_format_zip(in.get()), archive_read_support_format_tar(in.get());
  const auto demand = [&](bool good) {
    const char* why = archive_error_string(in.get());
    if (!good) throw Error(fmt::format("the archive cannot be read: {}", why ? printable(why) : "it ends too soon"));
  };
  constexpr size_t block = 64 << 10;
  demand(archive_read_open_filename(in.get(), file.c_str(), block) == ARCHIVE_OK);
  std::vector<SubmittedFile> files;
  std::vector<char> buffer(block);
  uint64_t unpacked = 0;
  size_t entries = 0;
  archive_entry* entry = nullptr;
  for (int status; (status = archive_read_next_header(in.get(), &entry)) != ARCHIVE_EOF;) {
    demand(status == ARCHIVE_OK || status == ARCHIVE_WARN);
    if (++entries > limits.entries) throw Error(fmt::format("the archive has more than {} entries", limits.entries));
    SubmittedFile f{checked_name(entry), ""};
    const bool wanted = archive_entry_filetype(entry) == AE_IFREG && is_source(f.path);
    for (la_ssize_t n; (n = archive_read_data(in.get(), buffer.data(), buffer.size())) != 0;) {
      demand(n > 0);
      unpacked += uint64_t(n);
      if (unpacked > limits.unpacked_bytes)
        throw Error(fmt::format("the archive unpacks to more than {}", in_units(int64_t(limits.unpacked_bytes))));
      if (wanted) f.text.append(buffer.data(), size_t(n));
      if (f.text.size() > limits.file_bytes)
        throw Error(fmt::format("{} has more than {}", printable(f.path), in_units(int64_t(limits.file_bytes))));
    }
    if (wanted && f.path.find("__MACOSX") == f.path.npos) files.push_back(std::move(f));
  }
  return files;
}

#else

std::vector<SubmittedFile> files_of_archive(const fs::path&, const SubmissionLimits&) {
  throw Error("it is an archive, and this build has no libarchive to read it: install libarchive-dev, or unpack it");
}

#endif

}  // namespace rungs
