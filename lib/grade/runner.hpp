/// The grader's end of a runner process: it starts it, feeds it cases, and outlives whatever it does.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "grade/judge.hpp"

namespace rungs {

/// What a runner may use. Time is per case.
struct RunnerLimits {
  int milliseconds = 10'000;
  uint64_t memory_bytes = uint64_t(2) << 30;
  uint64_t file_bytes = 1 << 20;  ///< of what it prints, too
};

class Runner {
 public:
  /// `program` was built from a lesson; `implementation` is one of those in it. Nothing is started yet.
  Runner(std::filesystem::path program, std::string implementation, RunnerLimits limits = {});
  ~Runner();
  Runner(Runner&& o) noexcept;
  Runner(const Runner&) = delete;

  /// Runs one case; starts the process when none is alive. Never throws for what the code under grade does.
  /// \throws Error when the program is not there.
  Outcome run(const CaseInput& in);
  /// What the process printed since it started, at most the last `most` bytes.
  std::string printed(size_t most = 600) const;

 private:
  void start();
  int stop();

  std::filesystem::path program_;
  std::string implementation_;
  RunnerLimits limits_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1, printed_ = -1;
};

}  // namespace rungs
