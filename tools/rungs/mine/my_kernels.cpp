#include "my_kernels.hpp"

#include "16_cuda_first/lesson.hpp"
#include "17_cuda_matmul/lesson.hpp"
#include "18_cuda_reduce/lesson.hpp"
#include "19_cuda_attention/lesson.hpp"
#include "21_tensor_cores/lesson.hpp"
#include "kernels/backend/add_bias.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/rope/rope.hpp"
#include "my_lessons.hpp"
#include "rungs/ops/require.hpp"

namespace rungs {

static bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

/// (K, C) in f32 and as (C, K), which is how lesson 17 reads it; made once. Of a vector, the same in f32.
float* MyKernels::transposed(const Tensor& weight) {
  const auto it = transposed_.find(weight.raw());
  if (it != transposed_.end()) return it->second.data();
  const int64_t K = weight.rows(), C = weight.cols();
  Tensor stored = Tensor::uninitialised({K, C}, weight.dtype()), turned = Tensor::uninitialised({C, K});
  download(stored.raw(), weight);
  const Tensor wide = converted(stored, DType::f32);
  for (int64_t k = 0; k < K; ++k)
    for (int64_t c = 0; c < C; ++c) turned(c, k) = wide(k, c);
  Tensor& here = transposed_.emplace(weight.raw(), allocate({C, K})).first->second;
  upload(here, turned.raw());
  return here.data();
}

/// out = x + y on the device.
void MyKernels::sum(float* out, const float* x, const float* y, int n) {
  if (passed(16)) return lesson_16::add(out, x, y, n, stream_);
  if (out != x) CUDA_CHECK(cudaMemcpyAsync(out, x, size_t(n) * sizeof(float), cudaMemcpyDeviceToDevice, stream_));
  add_01(out, y, n, stream_);
}

/// Lesson 21 multiplies bf16 with bf16: a row of x becomes two, which together are nearly as good as f32, and their
/// products are added.
void MyKernels::product(float* out, const Tensor& x, const Tensor& weight) {
  const int N = as_int(x.rows()), K = as_int(weight.rows()), C = as_int(x.cols());
  bf16* parts = parts_.need<bf16>(2 * int64_t(N) * C);
  float* products = products_.need<float>(2 * int64_t(N) * K);
  split_bf16(parts, x.data(), N, C, 2, stream_);
  lesson_21::matmul_pipeline(products, parts, weight.data<bf16>(), as_int(2 * int64_t(N)), K, C, stream_);
  for (int64_t n = 0; n < N; ++n) sum(out + n * K, products + 2 * n * K, products + (2 * n + 1) * K, K);
}

void MyKernels::linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_linear(Place::gpu, out, x, weight, bias);
  const int N = as_int(x.rows()), K = as_int(weight.rows()), C = as_int(x.cols());
  if (out.count() == 0) return;
  if (passed(21) && weight.dtype() == DType::bf16 && C % 8 == 0 && is_aligned(weight.raw()))
    product(out.data(), x, weight);
  else if (passed(17) && is_aligned(out.data()) && is_aligned(x.data()))
    lesson_17::matmul_vectorized(out.data(), x.data(), transposed(weight), N, K, C, stream_);
  else
    return NaiveCudaOps::linear(out, x, weight, bias);
  if (bias) add_bias(out.data(), bias.data(), N, K, stream_);
}

void MyKernels::rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) {
  require_rms_norm(Place::gpu, out, x, weight);
  if (!passed(18) || x.count() == 0) return NaiveCudaOps::rms_norm(out, x, weight, epsilon);
  lesson_18::rms_norm(out.data(), x.data(), transposed(weight), as_int(x.rows()), as_int(x.cols()), epsilon, stream_);
}

void MyKernels::add(Tensor& x, const Tensor& y) {
  require_add(Place::gpu, x, y);
  if (x.count() > 0) sum(x.data(), x.data(), y.data(), as_int(x.count()));
}

void MyKernels::sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const SdpaSizes s = require_sdpa(Place::gpu, out, q, k, v);
  if (!passed(19) || options != AttentionOptions{} || s.D > 256 || s.T == 0)
    return NaiveCudaOps::sdpa(out, q, k, v, options);
  const lesson_19::AttentionShape shape{as_int(s.T), as_int(s.S), as_int(s.H), as_int(s.G), as_int(s.D)};
  lesson_19::attention_tiled(out.data(), q.data(), k.data(), v.data(), shape, stream_);
}

// One row a sequence: split keys, straight from the cache.
void MyKernels::attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                          LayerCache* cache, const AttentionOptions& options) {
  const int64_t N = rows.token.count(), D = q.cols();
  if (!passed(19) || !cache || !rows.is_decode() || options != AttentionOptions{} || D > 256 || N == 0)
    return NaiveCudaOps::attention(out, q, k, v, rows, cache, options);
  require(Place::gpu, out.shape() == q.shape() && k.shape() == v.shape() && k.dim(0) == N && k.cols() == D,
          "attention(out, q, k, v)", out, q, k);
  const int *sequence = rows.sequence.data<int32_t>(), *position = rows.position.data<int32_t>();
  const lesson_19::CacheShape n{as_int(N), as_int(cache->k.dim(1)), as_int(q.rows() / N), as_int(k.rows() / N),
                                as_int(D)};
  append_01({cache->k.data(), cache->v.data(), sequence, position, n.capacity}, k.data(), v.data(), n.N, n.G, n.D,
            stream_);
  constexpr int splits = 8;
  lesson_19::attention_split(out.data(), partial_.need<float>(N * n.H * splits * (2 + D)), q.data(), cache->k.data(),
                             cache->v.data(), sequence, position, n, splits, stream_);
}

}  // namespace rungs
