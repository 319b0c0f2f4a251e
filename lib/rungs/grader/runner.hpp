/// The grader's end of a runner process: it starts it, feeds it cases, and outlives whatever it does.
///
/// The process is a guard against accidents, and against code that wants to look right without computing anything. As
/// it is it may read the files of its user, the references among them: who checks their own file has nothing to gain by
/// that. Who grades others sets RunnerLimits::enclosed.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rungs/grader/enclosure.hpp"
#include "rungs/grader/judge.hpp"
#include "rungs/grader/protocol.hpp"

namespace rungs {

/// What a runner may use.
struct RunnerLimits {
  int milliseconds = 10'000;  ///< for one case; once one took longer, at most a second for each that follows
  uint64_t memory_bytes = uint64_t(2) << 30;
  uint64_t file_bytes = 1 << 20;       ///< of each file that it writes, and of what it prints
  uint64_t sent_bytes = 256ull << 20;  ///< of outputs and taps, for one case
  bool enclosed = false;               ///< behind walls, where there are any; and it starts no process
  bool on_gpu = false;                 ///< it calls the driver of a GPU: see limits_on_gpu
};

/// For one case on a GPU, and for one run of a lesson's program there: the first launch of a process waits for the CUDA
/// context, which takes seconds where there are many GPUs.
inline constexpr int seconds_on_gpu = 60;

/// Those of a program that runs on a GPU. Its addresses are not counted: the CUDA driver reserves hundreds of GB of
/// them, which hold nothing. What counts is the memory of its own that it can write: neither those reservations, which
/// nobody may read or write, nor the driver's memory, which is shared with the device, are among it. Files may be
/// as large as what the driver keeps in them. After an exception the next case has a new process: an error of a kernel
/// stays with its process, and would be that of every case after it. Not for enclosed programs, which see no device.
RunnerLimits limits_on_gpu();

/// Takes what a runner sends for one case into its outcome: a piece, or how it ended. False when it is none of these.
bool take(Outcome& outcome, Message& m);

/// What an enclosed runner sees: itself, and the models that cases name. No reference, no solution, no mistake.
Enclosure enclosure_of_runner(const std::filesystem::path& program, const RunnerLimits& limits);

/// One runner process, started when it is first needed and again after it died.
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
  /// Runs it again with noise in fresh memory, where that may end otherwise than `judged`, which had NaN there.
  std::optional<Outcome> run_with_noise(const CaseInput& in, const Outcome& judged);
  /// What the process printed in the last case, at most the last `most` bytes.
  std::string printed(size_t most = 600) const;
  const std::filesystem::path& program() const { return program_; }

 private:
  void start();
  std::vector<std::string> command(int filter_fd) const;
  std::vector<std::string> environment() const;
  int stop(int patience_ms);
  Outcome listen(Deadline until);
  void tell_why_it_ended(Outcome& outcome);
  std::string end_of_output(size_t most) const;

  std::filesystem::path program_;
  std::string implementation_;
  RunnerLimits limits_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1, pidfd_ = -1, printed_ = -1;
};

}  // namespace rungs
