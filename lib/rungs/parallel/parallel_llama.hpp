/// LLaMA on several ranks: every rank has some heads and a part of each feed-forward, and two sums a layer make one
/// model of them.
#pragma once

#include "rungs/model/llama.hpp"
#include "rungs/parallel/collectives.hpp"

namespace rungs {

/// One rank's share of a LLaMA, on the rank's own device. All ranks call forward with the same batch, and all get all
/// logits: the same bits, where `ranks` adds in one order on all of them, as through_host does.
class ParallelLlama final : public Model {
 public:
  /// Takes of `whole` what this rank needs, see split(), and brings it to the device. `options.context` is not looked
  /// at. \throws UsageError as split(); Error for a device with too little memory
  ParallelLlama(const Backend& backend, Collectives ranks, LlamaCheckpoint whole, const LoadOptions& options);

  /// The shape of this rank's share, by which its KV cache is made; the vocabulary is the whole one.
  const Config& config() const override { return checkpoint_.config; }
  const Backend& backend() const override { return backend_; }
  int64_t max_rows() const override { return max_rows_; }
  const LlamaWeights& weights() const { return checkpoint_.weights; }
  /// \throws RankLost besides what Model says
  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override;

 private:
  void embed(Tensor& x, const std::vector<int32_t>& token);
  void add_row_parallel(Tensor& x, Tensor& scratch, const Tensor& y, const Tensor& weight);
  void gather_logits(Tensor& logits, const Tensor& x);

  Backend backend_;
  Collectives ranks_;
  LlamaCheckpoint checkpoint_;
  int64_t max_rows_;
  Part words_;  // of the vocabulary
  LlamaScratch scratch_;
  RowsOnDevice rows_;
  std::vector<int32_t> own_rows_;  // (N): tokens as rows of this rank's table
  Tensor own_token_;               // (max_rows) i32: the same on the device
  Tensor zeros_;                   // (1, C)
  Tensor logits_, gathered_;       // of this rank, M · words; of all, ranks · M · words
};

/// What one call of a ParallelLlama with `rows` rows, of which `logit_rows` have logits, communicates: an all-reduce
/// for the embedding and two a layer, each of (rows, C), then an all-gather of each rank's part of the logits.
Traffic traffic_of_call(const Config& whole, int64_t rows, int64_t logit_rows, int rank, int ranks);

}  // namespace rungs
