/// `rungs generate --tensor-parallel` and `rungs serve --tensor-parallel`: the processes that mpirun started share one
/// LLaMA.
#pragma once

#include "engine.hpp"
#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// One rank's part of generation. All ranks feed the same tokens: rank 0 draws them.
class ParallelEngine : public Engine {
 public:
  ParallelEngine(const Backend& backend, Communicator& ranks) : Engine(backend), ranks_(ranks) {}

  std::optional<RankReport> ranks() const override;
  std::unique_ptr<Model> model(const std::filesystem::path& path, const LoadOptions& options) override;
  Sequences generate(Model& model, const Sequences& prompts, const GenerateOptions& options,
                     const std::function<void(const Step&)>& on_step) override;

 private:
  Communicator& ranks_;
  int64_t weight_bytes_ = 0;
};

/// Does the same work in all processes of mpirun; returns what it returns once all are done. An error of one rank ends
/// all, with one sentence. `patience`: seconds that a rank waits for another. `threads`: that each computes with; 0:
/// its share of this machine's processors.
int on_ranks(double patience, int threads, const std::function<int(Communicator& ranks)>& work);

/// generate_text on all ranks; rank 0 alone prints.
int generate_on_ranks(const GenerateCommand& command);

}  // namespace rungs
