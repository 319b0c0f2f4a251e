#include "kernels/backend/naive_ops.hpp"

#include "kernels/attention/attention.hpp"
#include "kernels/backend/add_bias.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/gemv/gemv.hpp"
#include "kernels/layer_norm/layer_norm.hpp"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/silu_mul/silu_mul.hpp"
#include "rungs/ops/floats.hpp"
#include "rungs/ops/require.hpp"

namespace rungs {

void NaiveCudaOps::embedding(Tensor& out, const Tensor& table, const Tensor& index) {
  require_embedding(Place::gpu, out, table, index);
  const int N = as_int(index.count()), C = as_int(table.cols());
  if (N == 0) return;
  with_floats(table, [&](const auto* rows) { embedding_01(out.data(), rows, index.data<int32_t>(), N, C, stream_); });
}

void NaiveCudaOps::linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_linear(Place::gpu, out, x, weight, bias);
  const int N = as_int(x.rows()), K = as_int(weight.rows()), C = as_int(x.cols());
  if (out.count() == 0) return;
  with_floats(weight, [&](const auto* w) { gemv_01(out.data(), x.data(), w, N, K, C, stream_); });
  if (bias) add_bias(out.data(), bias.data(), N, K, stream_);
}

void NaiveCudaOps::layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  require_layer_norm(Place::gpu, out, x, weight, bias);
  if (x.count() == 0) return;
  layer_norm_01(out.data(), x.data(), weight.data(), bias.data(), as_int(x.rows()), as_int(x.cols()), epsilon, stream_);
}

void NaiveCudaOps::rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) {
  require_rms_norm(Place::gpu, out, x, weight);
  if (x.count() == 0) return;
  with_floats(weight, [&](const auto* w) {
    rms_norm_01(out.data(), x.data(), w, as_int(x.rows()), as_int(x.cols()), epsilon, stream_);
  });
}

void NaiveCudaOps::relu(Tensor& x) {
  require_relu(Place::gpu, x);
  if (x.count() > 0) relu_01(x.data(), x.count(), stream_);
}

void NaiveCudaOps::silu_mul(Tensor& gate, const Tensor& up) {
  require_silu_mul(Place::gpu, gate, up);
  if (gate.count() > 0) silu_mul_01(gate.data(), up.data(), gate.count(), stream_);
}

void NaiveCudaOps::add(Tensor& x, const Tensor& y) {
  require_add(Place::gpu, x, y);
  if (x.count() > 0) add_01(x.data(), y.data(), x.count(), stream_);
}

void NaiveCudaOps::sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionOptions& options) {
  const SdpaSizes s = require_sdpa(Place::gpu, out, q, k, v);
  require_taken(options, s.D);
  if (s.T == 0) return;
  attention_01(out.data(), q.data(), k.data(), v.data(), scores_.need<float>(s.H * s.T * s.S), as_int(s.T), as_int(s.S),
               as_int(s.H), as_int(s.G), as_int(s.D), stream_);
}

// Room for one query of the fullest cache, so that no token on the way there asks for memory.
void NaiveCudaOps::attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                             LayerCache* cache, const AttentionOptions& options) {
  if (cache && q.count() > 0) scores_.need<float>(q.rows() / q.dim(0) * cache->k.dim(1));
  attention_by_segment(*this, out, q, k, v, rows, cache, options);
}

void NaiveCudaOps::launch_choice(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V) {
  if (draw)
    top_p_01(id, logits, draw, workspace, N, V, stream_);
  else
    argmax_01(id, logits, N, V, stream_);
}

}  // namespace rungs
