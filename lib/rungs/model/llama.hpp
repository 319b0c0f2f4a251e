/// LLaMA: rotary positions, grouped-query attention, RMSNorm, SwiGLU.
#pragma once

#include <vector>

#include "rungs/checkpoint/tensor_set.hpp"
#include "rungs/model/model.hpp"
#include "rungs/model/rope.hpp"
#include "rungs/model/rows.hpp"

namespace rungs {

/// One layer, by its letters. Every weight keeps the dtype of its file; linear weights are stored (out, in).
struct LlamaLayer {
  ConstTensor attention_norm;  ///< (C)
  QkvWeights qkv;              ///< (H·D, C), (G·D, C), (G·D, C)
  ConstTensor o;               ///< (C, H·D)
  ConstTensor ffn_norm;        ///< (C)
  GateUpWeights gate_up;       ///< (F, C), (F, C)
  ConstTensor down;            ///< (C, F)
};

/// The whole model.
struct LlamaWeights {
  ConstTensor token_embedding;  ///< (V, C)
  std::vector<LlamaLayer> layers;
  ConstTensor final_norm;                   ///< (C)
  ConstTensor output;                       ///< (V, C); with tied weights a view of the token embedding
  RopeTables rotary;                        ///< (context, D/2) each
  float epsilon = 0;                        ///< of every RMSNorm
  int64_t num_heads = 1, num_kv_heads = 1;  ///< H, G
};

/// Opens what `config` was read from: a directory, a .bin of llama2.c or a GGUF file. \throws FileError
TensorSet open_weights(const Config& config);

/// An open checkpoint: its weights are views of the mapped file or files.
struct LlamaCheckpoint {
  /// A directory, a .bin of llama2.c or a GGUF file. `context`: how many positions the rotary table holds; 0: as many
  /// as the model knows. \throws FileError naming the tensor, the shape wanted and the shape found; also for a tensor
  /// that no LLaMA has. UsageError for a context that the model does not know.
  explicit LlamaCheckpoint(const std::filesystem::path& directory_or_bin, int64_t context = 0);
  /// Of tensors that came from elsewhere, with the names of published files. \throws FileError for one that is missing
  /// or has another shape.
  LlamaCheckpoint(Config config, TensorSet tensors);

  Config config;
  TensorSet file;
  LlamaWeights weights;
};

/// Brings all weights to the device, those that are used together as one value where it lays them out so. \throws Error
/// for a device with too little memory for them and what `options` plan
void upload_weights(const Backend& backend, const Config& config, LlamaWeights& weights, const LoadOptions& options);

/// Named scratch memory, planned once for the largest call.
struct LlamaScratch {
  Tensor x, normed, projected;  ///< (N, C)
  Tensor q, attn_out;           ///< (N, H, D)
  Tensor k, v;                  ///< (N, G, D)
  Tensor hidden, up;            ///< (N, F)
  Tensor last_x;                ///< (N, C): x of the rows whose logits the caller wants

  /// visit(member, its shape) for each, for a call of n rows.
  template <class Visit>
  static void each(const Config& c, int64_t n, Visit visit) {
    for (auto t : {&LlamaScratch::x, &LlamaScratch::normed, &LlamaScratch::projected, &LlamaScratch::last_x})
      visit(t, Shape{n, c.hidden_size});
    for (auto t : {&LlamaScratch::q, &LlamaScratch::attn_out}) visit(t, Shape{n, c.num_heads, c.head_dim});
    for (auto t : {&LlamaScratch::k, &LlamaScratch::v}) visit(t, Shape{n, c.num_kv_heads, c.head_dim});
    for (auto t : {&LlamaScratch::hidden, &LlamaScratch::up}) visit(t, Shape{n, c.intermediate_size});
  }
};

/// LLaMA with its weights and its scratch memory, on the backend that it was given.
class Llama final : public Model {
 public:
  Llama(const Backend& backend, const std::filesystem::path& directory, const LoadOptions& options = {});
  /// `options.context` is not looked at: the checkpoint knows its own.
  Llama(const Backend& backend, LlamaCheckpoint checkpoint, const LoadOptions& options);

  const Config& config() const override { return checkpoint_.config; }
  const Backend& backend() const override { return backend_; }
  int64_t max_rows() const override { return max_rows_; }
  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override;

 private:
  /// What one call is about.
  struct Call {
    Tensor& logits;
    const Rows& rows;
    KvCache* cache;
  };
  void run(const Call& call);

  Backend backend_;
  LlamaCheckpoint checkpoint_;
  int64_t max_rows_;
  LlamaScratch scratch_;
  RowsOnDevice rows_;
};

}  // namespace rungs
