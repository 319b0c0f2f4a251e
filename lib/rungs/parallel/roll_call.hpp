/// Which ranks of one machine live while MPI waits for all of them and cannot say for whom: in MPI_Init and
/// MPI_Finalize.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace rungs {

/// A file in which every rank writes, now and then, that it lives, and reads the same of the others.
class RollCall {
 public:
  /// How far a rank has come. While it begins and while it ends it waits for the others.
  enum Stage : int32_t { none, begins, works, ends, has_ended };

  /// The file may be there already: the first rank makes it. \throws FileError
  RollCall(const std::filesystem::path& file, int rank, int ranks);
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;
  ~RollCall();

  /// That of the job that Open MPI's mpirun started, where it runs on this machine alone; it lies in mpirun's own
  /// folder, which goes when the job ends. Nothing where there is no such job.
  static std::unique_ptr<RollCall> of_this_job();

  /// This rank has come this far, and lives.
  void answer(Stage stage);

  /// A rank that others wait for.
  struct Awaited {
    int rank;
    bool has_come;  ///< to this stage, too
    int turns;      ///< how often, in a row up to now, nothing new was found of it
  };
  /// Reads what the others wrote, and returns the one that has been silent for longest among those that have not passed
  /// this stage; nothing when all have. Called in turns: a time is counted in them, not by the clock, which goes on
  /// while this process is stopped itself.
  std::optional<Awaited> look(Stage stage);

 private:
  struct Sign {
    Stage stage;
    int32_t answers;
    bool operator==(const Sign&) const = default;
  };

  int file_, rank_;
  Sign mine_ = {};
  std::vector<Sign> others_;
  std::vector<int> turns_;  // since each last changed
};

}  // namespace rungs
