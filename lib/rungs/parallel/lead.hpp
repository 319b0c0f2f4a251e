/// One rank decides what is computed, the others follow it step by step: how a server runs on several ranks.
#pragma once

#include <memory>

#include "rungs/model/model.hpp"
#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// The model as rank 0 calls it, while the other ranks are in follow(). Before each call it tells them the rows of the
/// batch, the block tables of their sequences, and the blocks that were copied since the last call; then all ranks
/// compute together. Its calls come from one thread at a time, and always with the same paged cache.
class LeadingModel final : public Model {
 public:
  /// `shared`: this rank's part, whose forward all ranks call together. `ranks` must outlive it.
  LeadingModel(std::unique_ptr<Model> shared, Communicator& ranks) : shared_(std::move(shared)), ranks_(ranks) {}

  const Config& config() const override { return shared_->config(); }
  const Backend& backend() const override { return shared_->backend(); }
  int64_t max_rows() const override { return shared_->max_rows(); }
  /// \throws RankLost where a rank is lost, and, named as that rank, where this one fails in the middle of a call: the
  /// others wait for it then, and none of them can go on
  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override;
  void copy_block(KvCache& cache, int32_t to, int32_t from) override;

 private:
  std::unique_ptr<Model> shared_;
  Communicator& ranks_;
  std::vector<int32_t> copies_;  // to, from, to, from, ... since the last call
};

/// For rank 0, now and then while there is nothing to compute: all ranks answer. A rank that hears nothing at all
/// thinks that rank 0 is lost. \throws RankLost
void ask_followers(Communicator& ranks);

/// For rank 0: follow() returns on the other ranks. \throws RankLost
void end_followers(Communicator& ranks);

/// What the ranks other than 0 do: the calls of rank 0's LeadingModel, on this rank's part of the model and of the
/// cache, until it ends. The sizes are those of rank 0's cache. \throws RankLost, and what the model throws
void follow(Model& shared, Communicator& ranks, int64_t sequences, const Paging& paging, DType cache_dtype);

}  // namespace rungs
