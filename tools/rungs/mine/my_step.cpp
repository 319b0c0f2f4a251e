#include "my_step.hpp"

#include "20_cuda_llama/lesson.hpp"
#include "rungs/model/llama.hpp"

namespace rungs {

namespace {

/// All weights in f32 and in the memory of the device.
LlamaWeights in_floats(Device& device, const LlamaWeights& w) {
  const auto moved = [&](const ConstTensor& weight) {
    const Tensor wide = converted(weight, DType::f32);
    Tensor here = device.allocate(wide.shape());
    device.upload(here, wide.raw());
    return ConstTensor(std::move(here));
  };
  LlamaWeights d;
  d.token_embedding = moved(w.token_embedding);
  for (const LlamaLayer& l : w.layers)
    d.layers.push_back({moved(l.attention_norm),
                        {moved(l.qkv.q), moved(l.qkv.k), moved(l.qkv.v), {}},
                        moved(l.o),
                        moved(l.ffn_norm),
                        {moved(l.gate_up.gate), moved(l.gate_up.up), {}},
                        moved(l.down)});
  d.final_norm = moved(w.final_norm), d.output = moved(w.output);
  d.rotary = {moved(w.rotary.cos), moved(w.rotary.sin)};
  d.epsilon = w.epsilon, d.num_heads = w.num_heads, d.num_kv_heads = w.num_kv_heads;
  return d;
}

StepBuffers buffers(Device& device, const Config& c, int64_t N) {
  const auto list = [&] { return device.allocate({N}, DType::i32); };
  const auto rows = [&](int64_t columns) { return device.allocate({N, columns}); };
  const auto heads = [&](int64_t count) { return device.allocate({N, count, c.head_dim}); };
  StepBuffers b;
  b.token = list(), b.sequence = list(), b.position = list();
  b.x = rows(c.hidden_size), b.normed = rows(c.hidden_size);
  b.q = heads(c.num_heads), b.attn_out = heads(c.num_heads);
  b.k = heads(c.num_kv_heads), b.v = heads(c.num_kv_heads);
  b.gate = rows(c.intermediate_size), b.up = rows(c.intermediate_size);
  b.partial = device.allocate({N, c.num_heads, lesson_20::splits, 2 + c.head_dim});
  b.logits = rows(c.vocab_size);
  return b;
}

class SteppedLlama final : public Model {
 public:
  SteppedLlama(MyKernels& kernels, const std::filesystem::path& path, const LoadOptions& options)
      : kernels_(kernels),
        prompts_(kernels, path, options),
        weights_(in_floats(kernels, LlamaCheckpoint(path, options.context).weights)),
        rows_(kernels, max_rows()) {}

  const Config& config() const override { return prompts_.config(); }
  const Backend& backend() const override { return prompts_.backend(); }
  int64_t max_rows() const override { return prompts_.max_rows(); }

  void forward(Tensor& logits, const Batch& batch, KvCache* cache) override {
    const Rows& rows = rows_.fill(kernels_, batch, config(), cache);  // its checks hold for both ways
    if (!cache || !rows.is_decode()) return prompts_.forward(logits, batch, cache);
    const int64_t N = batch.rows();
    if (N > planned_) step_ = buffers(kernels_, config(), N), planned_ = N;
    Tensor token = step_.token.view_rows(0, N), sequence = step_.sequence.view_rows(0, N),
           position = step_.position.view_rows(0, N), of_rows = step_.logits.view_rows(0, N);  // (N) thrice; (N, V)
    kernels_.upload(token, batch.token.data());
    kernels_.upload(sequence, batch.sequence.data());
    kernels_.upload(position, batch.position.data());
    lesson_20::llama_forward(weights_, *cache, step_, int(N), kernels_.stream());
    kernels_.embedding(logits, of_rows, rows.logit_rows);
  }

 private:
  MyKernels& kernels_;
  Llama prompts_;
  LlamaWeights weights_;
  RowsOnDevice rows_;
  StepBuffers step_;
  int64_t planned_ = 0;
};

}  // namespace

std::unique_ptr<Model> llama_with_my_step(MyKernels& kernels, const std::filesystem::path& path,
                                          const LoadOptions& options) {
  return std::make_unique<SteppedLlama>(kernels, path, options);
}

}  // namespace rungs
