#include "18_cuda_reduce/lesson.hpp"
#include "19_cuda_attention/lesson.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/gemv/gemv.hpp"
#include "kernels/rope/rope.hpp"
#include "kernels/sample/sample.hpp"
#include "kernels/silu_mul/silu_mul.hpp"
#include "lesson.hpp"

namespace lesson_20 {

/// y = x · weightᵀ.  y: (N, K); x: (N, C); weight: (K, C)
static void linear(Tensor& y, const Tensor& x, const Tensor& weight, int N, cudaStream_t stream) {
  gemv_03(y.data(), x.data(), weight.data(), N, int(weight.dim(0)), int(weight.dim(1)), stream);
}

/// y += x · weightᵀ: a product and the residual in one launch.
static void add_linear(Tensor& y, const Tensor& x, const Tensor& weight, int N, cudaStream_t stream) {
  gemv_add(y.data(), x.data(), weight.data(), N, int(weight.dim(0)), int(weight.dim(1)), stream);
}

void llama_forward(const LlamaWeights& w, const KvCache& cache, StepBuffers& b, int N, cudaStream_t stream) {
  const int C = int(w.token_embedding.dim(1)), H = int(w.num_heads), G = int(w.num_kv_heads), D = int(b.q.dim(2));
  const int F = int(b.gate.dim(1));
  const int *token = b.token.data<int32_t>(), *sequence = b.sequence.data<int32_t>(),
            *position = b.position.data<int32_t>();
  const RopePointers rotary{w.rotary.cos.data(), w.rotary.sin.data()};

  // >>> x = the rows of the token embedding
  embedding_01(b.x.data(), w.token_embedding.data(), token, N, C, stream);
  // <<<

  for (size_t i = 0; i < w.layers.size(); ++i) {
    const LlamaLayer& layer = w.layers[i];
    const LayerCache& past = cache.layers[i];
    const CacheRows rows{const_cast<float*>(past.k.data()), const_cast<float*>(past.v.data()), sequence, position,
                         int(past.k.dim(1))};

    // >>> normed = RMSNorm of x with the norm of attention; q, k, v = its products
    lesson_18::rms_norm(b.normed.data(), b.x.data(), layer.attention_norm.data(), N, C, w.epsilon, stream);
    linear(b.q, b.normed, layer.qkv.q, N, stream);
    linear(b.k, b.normed, layer.qkv.k, N, stream);
    linear(b.v, b.normed, layer.qkv.v, N, stream);
    // <<<

    // >>> turn q and k to their positions, and bring k and v to their places in the cache: one launch
    rope_02_append(b.q.data(), rows, b.k.data(), b.v.data(), rotary, N, H, G, D, stream);
    // <<<

    // >>> context = attention over the cache; x += its product with o
    lesson_19::attention_split(b.attn_out.data(), b.partial.data(), b.q.data(), past.k.data(), past.v.data(), sequence,
                               position, {N, rows.capacity, H, G, D}, splits, stream);
    add_linear(b.x, b.attn_out, layer.o, N, stream);
    // <<<

    // >>> normed = RMSNorm of x with the norm of the feed-forward; x += down(silu(gate) ∘ up)
    lesson_18::rms_norm(b.normed.data(), b.x.data(), layer.ffn_norm.data(), N, C, w.epsilon, stream);
    linear(b.gate, b.normed, layer.gate_up.gate, N, stream);
    linear(b.up, b.normed, layer.gate_up.up, N, stream);
    silu_mul_02(b.gate.data(), b.up.data(), int64_t(N) * F, stream);
    add_linear(b.x, b.gate, layer.down, N, stream);
    // <<<
  }

  // >>> logits = the product of the output weight with the final norm of x
  lesson_18::rms_norm(b.normed.data(), b.x.data(), w.final_norm.data(), N, C, w.epsilon, stream);
  linear(b.logits, b.normed, w.output, N, stream);
  // <<<
}

/// One thread. What would come from the host for every token is kept where the kernels are.
__global__ void advance_kernel(int* ids, int* count, const int* token, int* position) {
  // >>> keep the token, and move on: one more token, one position further
  ids[*count] = *token;
  *count += 1;
  *position += 1;
  // <<<
}

void advance(int* ids, int* count, const int* token, int* position, cudaStream_t stream) {
  launch(advance_kernel, {1, 1, 0, stream}, ids, count, token, position);
}

std::vector<int32_t> decode(const LlamaWeights& w, const KvCache& cache, StepBuffers& b, Tensor& ids, Tensor& count,
                            int steps, cudaStream_t stream) {
  const int V = int(w.output.dim(0));
  int *token = b.token.data<int32_t>(), *position = b.position.data<int32_t>();
  CUDA_CHECK(cudaMemsetAsync(count.raw(), 0, count.bytes(), stream));

  // A graph is a list of launches with their arguments, recorded once. What changes from token to token must be in the
  // memory that these arguments point to.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t step = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  // >>> record a step: the logits of the one row, the best token into token, and advance
  llama_forward(w, cache, b, 1, stream);
  argmax_01(token, b.logits.data(), 1, V, stream);
  advance(ids.data<int32_t>(), count.data<int32_t>(), token, position, stream);
  // <<<
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  CUDA_CHECK(cudaGraphInstantiate(&step, graph, 0));

  std::vector<int32_t> made(static_cast<size_t>(steps));
  // >>> launch the graph once for each token; then copy all ids back at once, behind them on the same stream, and wait
  for (int i = 0; i < steps; ++i) CUDA_CHECK(cudaGraphLaunch(step, stream));
  CUDA_CHECK(cudaMemcpyAsync(made.data(), ids.raw(), made.size() * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  // <<<
  CUDA_CHECK(cudaGraphExecDestroy(step));
  CUDA_CHECK(cudaGraphDestroy(graph));
  return made;
}

}  // namespace lesson_20
