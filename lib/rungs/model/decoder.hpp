/// The 2-layer decoder-only transformer of part I; its checkpoint also holds the models between it and LLaMA.
#pragma once

#include "rungs/checkpoint/safetensors.hpp"
#include "rungs/model/model.hpp"
#include "rungs/model/rows.hpp"
#include "rungs/model/weights.hpp"

namespace rungs {

/// An open checkpoint of the decoder: its weights are views of the mapped file.
struct DecoderCheckpoint {
  /// \throws FileError naming the tensor, the shape wanted and the shape found; also for a tensor that no decoder has.
  explicit DecoderCheckpoint(const std::filesystem::path& directory);

  Config config;
  SafeTensors file;
  DecoderWeights weights;
};

/// Named scratch memory, planned once for the largest call.
struct DecoderScratch {
  Tensor x, positions, normed, projected;  ///< (N, C)
  Tensor q, k, v, attn_out;                ///< (N, D)
  Tensor hidden;                           ///< (N, F)
  Tensor wanted;                           ///< (N, C)
};

/// The decoder with its weights and its scratch memory, on the device of the ops that it was given.
class Decoder final : public Model {
 public:
  Decoder(const Backend& backend, const std::filesystem::path& directory, const LoadOptions& options = {});

  const Config& config() const override { return checkpoint_.config; }
  const Backend& backend() const override { return backend_; }
  int64_t max_rows() const override { return max_rows_; }
  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override;

 private:
  DecoderScratch rows_of_scratch(int64_t n) const;

  Backend backend_;
  DecoderCheckpoint checkpoint_;
  int64_t max_rows_;
  DecoderScratch scratch_;
  RowsOnDevice rows_;
};

}  // namespace rungs
