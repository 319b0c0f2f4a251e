// Attention of CudaOps, from the norm to the context.
#include "kernels/attention/attention.hpp"
#include "kernels/backend/cuda_ops.hpp"
#include "kernels/gemv/gemv.hpp"
#include "kernels/rope/rope.hpp"
#include "rungs/ops/floats.hpp"
#include "rungs/ops/require.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

void CudaOps::sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  attend(out, q, k, v, options, /*rounded=*/false);
}

void CudaOps::attend(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                     bool rounded) {
  const SdpaSizes s = require_sdpa(Place::gpu, out, q, k, v);
  require_taken(options, s.D);
  if (s.T == 0) return;
  constexpr int64_t many = 256;  // queries: four tiles for each head
  const auto attention = s.T == 1     ? attention_02
                         : s.T < many ? attention_03
                         : rounded    ? attention_05_rounded
                                      : attention_05;
  attention(out.data(), q.data(), k.data(), v.data(), as_int(s.T), as_int(s.S), as_int(s.H), as_int(s.G), as_int(s.D),
            stream_);
}

/// Where rows of a call go in a layer's cache.
static CacheRows cache_rows(LayerCache& cache, const Rows& rows) {
  CacheRows at{cache.k.data(), cache.v.data(), rows.sequence.data<int32_t>(), rows.position.data<int32_t>(),
               as_int(cache.k.dim(1))};
  if (rows.block_tables) {
    at.block_tables = rows.block_tables.data<int32_t>();
    at.first_block = rows.first_block.data<int32_t>();
  }
  return at;
}

/// No sequence has more keys in the cache; the same for every step, so that a CUDA graph of one can be replayed.
static int most_keys(const LayerCache& cache, const Rows& rows) {
  return as_int(rows.block_tables ? cache.k.dim(0) * cache.k.dim(1) : cache.k.dim(1));
}

// The keys and values of these rows are in the cache. Rows that are alone in their segment, as in decoding, read it
// where it lies, those that follow each other in one launch. Queries of a longer segment share tiles of keys, for which
// the blocks of a paged cache are brought together first.
void CudaOps::sdpa_cached(Tensor& out, const Tensor& q, const Rows& rows, LayerCache& cache,
                          const AttentionOptions& options, bool rounded) {
  const int D = as_int(q.cols()), H = as_int(q.rows() / q.dim(0)), keys = most_keys(cache, rows);
  const int G = as_int(cache.k.rows() / (cache.k.dim(0) * cache.k.dim(1)));
  require(Place::gpu, out.shape() == q.shape() && cache.k.cols() == D && H % G == 0, "attention(out, q, cache)", out, q,
          cache.k);
  require_taken(options, D);
  const CacheRows all = cache_rows(cache, rows);
  const std::vector<Segment>& segments = rows.segments;
  for (size_t i = 0, end; i < segments.size(); i = end) {
    const Segment& s = segments[i];
    end = i + 1;
    if (s.count > 1) {
      Tensor out_s = out.view_rows(s.first, s.count);  // (T, H, D)
      const auto [k, v] = keys_and_values(s, all, cache, G, D);
      attend(out_s, q.view_rows(s.first, s.count), k, v, options, rounded);
      continue;
    }
    while (end < segments.size() && segments[end].count == 1) ++end;
    const int N = int(end - i);
    CacheRows some = all;
    some.sequence += s.first, some.position += s.first;
    if (some.first_block) some.first_block += s.first;
    float* workspace = split_keys_.need<float>(int64_t(attention_04_workspace(N, keys, H, G, D)));
    attention_04(out.view_rows(s.first, N).data(), q.view_rows(s.first, N).data(), some, workspace, N, keys, H, G, D,
                 stream_);
  }
}

// (S, G, D) each: what the last row of this segment sees.
std::pair<Tensor, Tensor> CudaOps::keys_and_values(const Segment& s, const CacheRows& at, LayerCache& cache, int G,
                                                   int D) {
  const int64_t S = s.past + s.count;
  if (!at.block_tables) return {cache.k[s.sequence].view_rows(0, S), cache.v[s.sequence].view_rows(0, S)};
  float *k = collected_.need<float>(2 * S * G * D), *v = k + S * G * D;
  collect_01(k, v, at, as_int(s.first), as_int(S), G, D, stream_);
  const Shape shape = {S, G, D};
  return {Tensor::view_of(k, shape, DType::f32, Place::gpu), Tensor::view_of(v, shape, DType::f32, Place::gpu)};
}

// Keys and values first, of all rows: a row may see those of another row of its call.
void CudaOps::attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                        LayerCache* cache, const AttentionOptions& options) {
  if (!cache) return attention_by_segment(*this, out, q, k, v, rows, cache, options);
  require(Place::gpu, k.shape() == v.shape() && k.dim(0) == rows.token.count(), "attention(k, v, rows)", k, v,
          rows.token);
  if (k.count() == 0) return;
  const int64_t D = k.cols();
  append_01(cache_rows(*cache, rows), k.data(), v.data(), as_int(k.dim(0)), as_int(k.rows() / k.dim(0)), as_int(D),
            stream_);
  sdpa_cached(out, q, rows, *cache, options, /*rounded=*/false);
}

// q, k, v = the projections of rms_norm(x), not rotated yet, for few rows. False where the dtypes differ.
bool CudaOps::project(const Qkv& out, const Tensor& x, const NormRef& norm, const QkvWeights& w) {
  const DType dtype = norm.weight.dtype();
  for (const ConstTensor* weight : {&w.q, &w.k, &w.v}) {
    require(Place::gpu, weight->cols() == x.cols(), "norm_qkv(x, weight)", x, *weight);
    if (weight->dtype() != dtype) return false;
  }
  const int N = as_int(x.rows()), C = as_int(x.cols()), Kq = as_int(w.q.rows()), Kkv = as_int(w.k.rows());
  require(Place::gpu,
          out.q.count() == int64_t(N) * Kq && out.k.count() == int64_t(N) * Kkv && out.v.shape() == out.k.shape() &&
              w.v.rows() == Kkv,
          "norm_qkv(q, k, v)", out.q, out.k, out.v);
  if (N == 0) return true;
  with_floats(w.q, [&](const auto* q) {
    using W = std::remove_cvref_t<decltype(*q)>;
    const GemvQkv<W> io{out.q.data(),  out.k.data(),  out.v.data(),          q,
                        w.k.data<W>(), w.v.data<W>(), norm.weight.data<W>(), norm.epsilon};
    gemv_norm_qkv(io, x.data(), N, Kq, Kkv, C, stream_);
  });
  return true;
}

void CudaOps::norm_qkv(const Qkv& out, Tensor& normed, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                       const RopeTables& rope, const Rows& rows) {
  if (x.rows() > gemv_max_rows || !project(out, x, norm, w))
    return Steps::norm_qkv(out, normed, x, norm, w, rope, rows);
  apply_rope(out.q, rope, rows.position);
  apply_rope(out.k, rope, rows.position);
}

// A few rows of different sequences: RoPE, append and attention in one launch.
void CudaOps::rotate_append_attend(Tensor& out, const Qkv& s, const RopeTables& rope, const Rows& rows,
                                   LayerCache& cache, const AttentionOptions& options) {
  const int N = as_int(s.q.dim(0)), D = as_int(s.q.cols()), H = as_int(s.q.dim(1)), G = as_int(s.k.dim(1));
  require(Place::gpu, out.shape() == s.q.shape() && cache.k.cols() == D && H % G == 0, "attention(out, q, cache)", out,
          s.q, cache.k);
  require_taken(options, D);
  const int keys = std::min(most_keys(cache, rows), as_int(rope.cos.rows()));
  float* workspace = split_keys_.need<float>(int64_t(attention_04_workspace(N, keys, H, G, D)));
  attention_06(out.data(), s.q.data(), s.k.data(), s.v.data(), cache_rows(cache, rows),
               {rope.cos.data(), rope.sin.data()}, workspace, counters_.need_zeros<unsigned>(int64_t(N) * H, stream_),
               N, keys, H, G, D, stream_);
}

// Rotated keys go straight into the cache. Many rows are one product with the three weights, where these are packed.
void CudaOps::self_attention(Tensor& out, const Qkv& s, Tensor& normed, const Tensor& x, const NormRef& norm,
                             const QkvWeights& w, const RopeTables& rope, const Rows& rows, LayerCache* cache,
                             const AttentionOptions& options) {
  const bool few = x.rows() <= gemv_max_rows;
  if (!cache || taps_are_watched() || (few ? !project(s, x, norm, w) : !w.packed))
    return Steps::self_attention(out, s, normed, x, norm, w, rope, rows, cache, options);
  require_rope(Place::gpu, s.q, rope.cos, rope.sin, rows.position);
  if (few && rows.is_decode()) return rotate_append_attend(out, s, rope, rows, *cache, options);
  const int N = as_int(x.rows()), D = as_int(s.q.cols()), H = as_int(s.q.dim(1)), G = as_int(s.k.dim(1));
  const RopePointers tables{rope.cos.data(), rope.sin.data()};
  const CacheRows to = cache_rows(*cache, rows);
  if (few) {
    rope_02_append(s.q.data(), to, s.k.data(), s.v.data(), tables, N, H, G, D, stream_);
  } else {
    const int64_t K = w.packed.rows();  // (H + 2G)·D
    Tensor qkv = Tensor::view_of(packed_.need<float>(N * K), {N, K}, DType::f32, Place::gpu);
    norm_product(qkv, normed, x, norm, w.packed);
    rope_02_append_qkv(s.q.data(), to, qkv.data(), tables, N, H, G, D, stream_);
  }
  sdpa_cached(out, s.q, rows, *cache, options, /*rounded=*/parts_beside(w.q) == 1);
}

}  // namespace rungs
