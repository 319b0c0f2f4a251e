/// `rungs generate --tensor-parallel` and `rungs serve --tensor-parallel`: the processes that mpirun started share one
/// LLaMA.
#pragma once

#include "engine.hpp"
#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// One rank's part of generation. All ranks feed the same tokens: rank 0 draws them.
class ParallelEngine : public Engine {
 public:
  ParallelEngine(RankBackend mine, Communicator& ranks)
      : Engine(mine.backend), ranks_(ranks), collectives_(std::move(mine.collectives)) {}

  std::optional<RankReport> ranks() const override;
  std::unique_ptr<Model> model(const std::filesystem::path& path, const LoadOptions& options) override;
  Sequences generate(Model& model, const Sequences& prompts, const GenerateOptions& options,
                     const std::function<void(const Step&)>& on_step) override;

 private:
  Communicator& ranks_;
  Collectives collectives_;
  int64_t weight_bytes_ = 0;
};

/// What the command line says of the ranks.
struct RankOptions {
  double patience;  ///< seconds that a rank waits for another
  int threads;      ///< that each computes with; 0: its share of this machine's processors
  DeviceChoice device;
};

/// Does the same work in all processes of mpirun, each with a backend of its own; returns what it returns once all are
/// done. An error of one rank ends all, with one sentence.
int on_ranks(const RankOptions& options, const std::function<int(Communicator& ranks, RankBackend mine)>& work);

/// generate_text on all ranks; rank 0 alone prints.
int generate_on_ranks(const GenerateCommand& command);

}  // namespace rungs
