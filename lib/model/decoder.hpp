/// The 2-layer decoder-only transformer of part I.
#pragma once

#include "checkpoint/safetensors.hpp"
#include "model/model.hpp"
#include "model/rows.hpp"
#include "model/weights.hpp"

namespace rungs {

/// Takes the decoder's weights out of a checkpoint: views of its memory, which must outlive them.
/// \throws FileError naming the tensor, the shape wanted and the shape found; also for a tensor that no decoder has.
DecoderWeights decoder_weights(const SafeTensors& file, const Config& config);

/// Named scratch memory, planned once for the largest call.
struct DecoderScratch {
  Tensor x, positions, normed, projected;  ///< (N, C)
  Tensor q, k, v, context;                 ///< (N, D)
  Tensor hidden;                           ///< (N, F)
  Tensor wanted;                           ///< (N, C)
};

class Decoder final : public Model {
 public:
  Decoder(Ops& ops, const std::filesystem::path& directory, int64_t max_rows);

  const Config& config() const override { return config_; }
  Ops& ops() override { return ops_; }
  int64_t max_rows() const override { return max_rows_; }
  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override;

 private:
  DecoderScratch rows_of_scratch(int64_t n) const;

  Ops& ops_;
  Config config_;
  SafeTensors file_;
  DecoderWeights weights_;
  int64_t max_rows_;
  DecoderScratch scratch_;
  RowsOnDevice rows_;
};

}  // namespace rungs
