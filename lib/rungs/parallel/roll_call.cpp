#include "rungs/parallel/roll_call.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "rungs/base/error.hpp"

namespace rungs {

RollCall::RollCall(const std::filesystem::path& file, int rank, int ranks)
    : file_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
      rank_(rank),
      others_(size_t(ranks)),
      turns_(size_t(ranks)) {
  if (file_ < 0) throw FileError(fmt::format("{}: cannot be opened: {}", file.string(), std::strerror(errno)));
}

RollCall::~RollCall() { close(file_); }

/// A number of mpirun's; -1 where it says none.
static int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  const std::string_view digits = text ? text : "";
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return digits.empty() || error != std::errc() || end != digits.data() + digits.size() ? -1 : number;
}

std::unique_ptr<RollCall> RollCall::of_this_job() {
  const char *folder = std::getenv("PMIX_SERVER_TMPDIR"), *job = std::getenv("PMIX_NAMESPACE");
  const int rank = number_of("OMPI_COMM_WORLD_RANK"), ranks = number_of("OMPI_COMM_WORLD_SIZE");
  const bool all_here = ranks == number_of("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (!folder || !job || rank < 0 || rank >= ranks || !all_here) return {};
  try {
    return std::make_unique<RollCall>(std::filesystem::path(folder) / fmt::format("rungs-{}", job), rank, ranks);
  } catch (const FileError&) {
    return {};
  }
}

void RollCall::answer(Stage stage) {
  mine_ = {stage, mine_.answers + 1};
  if (pwrite(file_, &mine_, sizeof mine_, off_t(size_t(rank_) * sizeof mine_)) < 0) return;  // nobody hears it
}

std::optional<RollCall::Awaited> RollCall::look(Stage stage) {
  std::vector<Sign> found(others_.size());
  if (pread(file_, found.data(), found.size() * sizeof(Sign), 0) < 0) return {};
  std::optional<Awaited> longest;
  for (int rank = 0; rank < int(found.size()); ++rank) {
    const auto r = size_t(rank);
    turns_[r] = found[r] == others_[r] ? turns_[r] + 1 : 0;
    if (rank == rank_ || found[r].stage > stage) continue;
    if (!longest || turns_[r] > longest->turns) longest = {rank, found[r].stage == stage, turns_[r]};
  }
  others_ = std::move(found);
  return longest;
}

}  // namespace rungs
