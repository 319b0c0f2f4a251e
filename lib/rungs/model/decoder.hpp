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
  Tensor q, k, v, attn_out;                ///< (N, 1, D): of one head
  Tensor hidden;                           ///< (N, F)
  Tensor last_x;                           ///< (N, C): x of the rows whose logits the caller wants

  /// visit(member, its shape) for each, for a call of n rows.
  template <class Visit>
  static void each(const Config& c, int64_t n, Visit visit) {
    for (auto t : {&DecoderScratch::x, &DecoderScratch::positions, &DecoderScratch::normed, &DecoderScratch::projected,
                   &DecoderScratch::last_x})
      visit(t, Shape{n, c.hidden_size});
    for (auto t : {&DecoderScratch::q, &DecoderScratch::k, &DecoderScratch::v, &DecoderScratch::attn_out})
      visit(t, Shape{n, 1, c.head_dim});
    visit(&DecoderScratch::hidden, Shape{n, c.intermediate_size});
  }
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
  Backend backend_;
  DecoderCheckpoint checkpoint_;
  int64_t max_rows_;
  DecoderScratch scratch_;
  RowsOnDevice rows_;
};

}  // namespace rungs
