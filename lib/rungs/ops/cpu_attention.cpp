#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "rungs/ops/attention_block.hpp"
#include "rungs/ops/attention_sums.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/cpu_parts.hpp"
#include "rungs/ops/matrix.hpp"
#include "rungs/ops/upcast.hpp"

namespace rungs {

static float scale_of(const AttentionOptions& options, int64_t D) {
  return options.scale > 0 ? options.scale : 1.0f / std::sqrt(float(D));
}

/// The first key that the query at position p sees.
static int64_t first_visible(const AttentionOptions& options, int64_t p) {
  return options.window > 0 ? std::max<int64_t>(0, p + 1 - options.window) : 0;
}

/// scores = c · tanh(scores / c).
template <class Scores>
static void soft_cap(Scores&& scores, float c) {
  if (c > 0) scores = c * (scores / c).tanh();
}

/// Where the tokens of one sequence lie in a tensor of keys or values: token s, counted from `first`, in a row of its
/// own.
struct TokenRows {
  std::span<const int32_t> blocks = {};  // empty: all lie one behind the other
  int64_t block_size = 0, first = 0;
  bool ask_ahead = false;  // before they are read

  int64_t row(int64_t s) const {
    const int64_t p = first + s;
    return blocks.empty() ? p : blocks[size_t(p / block_size)] * block_size + p % block_size;
  }
  /// How many of n tokens from s on lie one behind the other.
  int64_t together(int64_t s, int64_t n) const {
    return blocks.empty() ? n : std::min(n, block_size - (first + s) % block_size);
  }
};

/// (B, capacity, G, D) seen as (B · capacity, G, D).
static Tensor rows_of_blocks(Tensor& cache) {
  const Shape& s = cache.shape();
  return cache.reshaped({s[0] * s[1], s[2], s[3]});
}

/// The first S tokens of a sequence, one behind the other.  rows: (B · capacity, G, D).
static ConstTensor collected(Tensor& scratch, const Tensor& rows, const TokenRows& tokens, int64_t S) {
  if (!scratch || scratch.dtype() != rows.dtype() || scratch.dim(0) < S || scratch.cols() != rows.cols())
    scratch = Tensor::uninitialised({S, rows.dim(1), rows.dim(2)}, rows.dtype());
  for (int64_t s = 0, n = 0; s < S; s += n) {
    n = tokens.together(s, S - s);
    const ConstTensor from = rows.view_rows(tokens.row(s), n);
    std::memcpy(scratch.view_rows(s, n).raw(), from.raw(), from.bytes());
  }
  return std::as_const(scratch).view_rows(0, S);
}

// One query reads the blocks where they lie. Many queries read keys and values many times, in products of matrices:
// for them the blocks are brought together first, which is little beside the products.
void CpuOps::paged_attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Segment& segment,
                             LayerCache& cache, const AttentionOptions& options, bool ask_ahead) {
  const auto& [begin, T, sequence, past, blocks] = segment;
  TokenRows tokens{blocks, cache.k.dim(1), 0, ask_ahead};
  Tensor k_rows = rows_of_blocks(cache.k), v_rows = rows_of_blocks(cache.v);  // (B · capacity, G, D)
  for (int64_t t = 0, n = 0; t < T; t += n) {
    n = tokens.together(past + t, T - t);
    Tensor new_k = k_rows.view_rows(tokens.row(past + t), n), new_v = v_rows.view_rows(tokens.row(past + t), n);
    copy(new_k, k.view_rows(begin + t, n));  // (n, G, D)
    copy(new_v, v.view_rows(begin + t, n));
  }
  Tensor out_s = out.view_rows(begin, T);         // (T, H, D)
  const ConstTensor q_s = q.view_rows(begin, T);  // (T, H, D)
  const int64_t S = past + T;
  if (T > 1) return sdpa(out_s, q_s, collected(k_, k_rows, tokens, S), collected(v_, v_rows, tokens, S), options);
  SdpaSizes sizes = require_sdpa(Place::host, out_s, q_s, k_rows, v_rows);
  tokens.first = first_visible(options, S - 1);
  sizes.S = S - tokens.first;
  sdpa_one(out_s, q_s, k_rows, v_rows, tokens, sizes, options);
}

// Room for one query of the fullest cache, so that no token on the way there allocates.
void CpuOps::attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows,
                       LayerCache* cache, const AttentionOptions& options) {
  const bool paged = cache && !rows.segments.empty() && !rows.segments[0].blocks.empty();
  if (cache && !paged) need(scores_, chunks_of_keys(cache->k.dim(1)) * q.dim(1) * room_of_chunk(q.cols()));
  if (!paged) return attention_by_segment(*this, out, q, k, v, rows, cache, options);
  const bool ask_ahead = rows.segments.size() > 1;  // one sequence alone is slower by it (bench/README.md)
  for (const Segment& s : rows.segments) paged_attention(out, q, k, v, s, *cache, options, ask_ahead);
}

/// Asks for keys and values `bytes_ahead` before they are read: of each chunk its keys, then its values. The processor
/// foresees by itself what lies one behind the other, but the blocks of a paged cache lie anywhere.
class ReadAhead {
 public:
  ReadAhead(const Tensor& k, const Tensor& v, const TokenRows& tokens, int64_t first, int64_t S)
      : k_(static_cast<const char*>(k.raw())),
        v_(static_cast<const char*>(v.raw())),
        row_bytes_(int64_t(k.bytes()) / k.dim(0)),
        tokens_(tokens),
        next_(2 * first),
        S_(S) {}

  /// Place 2 · begin + i is key i of the chunk from token `begin` on, and n further is value i, where it has n tokens.
  void go_on_to(int64_t place) {
    place = std::min(place + bytes_ahead / row_bytes_, 2 * S_);
    for (int64_t some = 0; next_ < place; next_ += some) {
      const int64_t begin = next_ / (2 * keys_at_a_time) * keys_at_a_time, n = std::min(keys_at_a_time, S_ - begin);
      const bool values = next_ >= 2 * begin + n;
      const int64_t i = next_ - 2 * begin - (values ? n : 0);
      some = tokens_.together(begin + i, std::min(n - i, place - next_));
      const char* first = (values ? v_ : k_) + tokens_.row(begin + i) * row_bytes_;
      for (int64_t byte = 0; byte < some * row_bytes_; byte += 64) __builtin_prefetch(first + byte);
    }
  }

 private:
  const char *k_, *v_;
  int64_t row_bytes_;
  const TokenRows& tokens_;
  int64_t next_, S_;
};

/// n elements of keys or values from `first` on, as f32: where they lie, or upcast into `room`.
static const float* as_floats(const Tensor& x, int64_t first, int64_t n, float* room) {
  if (x.dtype() == DType::f32) return x.data() + first;
  upcast(room, x, first, n);
  return room;
}

// One query: keys and values are read once, in the order in which they lie in memory, some at a time for all heads,
// upcast where they lie in fewer bits. Each chunk of them has a softmax of its own, with its largest score, its sum and
// its part of the result; in the end they are put together as if there had been one. (Milakov, Gimelshein 2018, "Online
// normalizer calculation for softmax".) The chunks are the same on every number of threads, so the result is.
void CpuOps::sdpa_one(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const TokenRows& tokens,
                      const SdpaSizes& sizes, const AttentionOptions& options) {
  const int64_t S = sizes.S, D = sizes.D, H = sizes.H, row = sizes.G * D;
  const Heads heads{H, sizes.G, D};
  const int64_t chunks = chunks_of_keys(S), room = room_of_chunk(D);
  const bool threads = size_t(2 * S * row) * sizeof(float) > bytes_worth_threads;
  const int64_t in_cache = std::clamp(floats_in_cache / row, keys_in_cache, keys_at_a_time);
  const int64_t upcast_room = k.dtype() == DType::f32 ? 0 : in_cache * row;  // of each thread
  need(scores_, chunks * H * room);
  need(upcast_, upcast_room * (threads ? omp_get_max_threads() : 1));
  const float scale = scale_of(options, D);
  const auto part = [&](int64_t chunk, int64_t h) { return scores_.data() + (chunk * H + h) * room; };

  in_parts(chunks, 1, threads, [&](int64_t first, int64_t last) {
    float* floats = upcast_.data() + (threads ? omp_get_thread_num() * upcast_room : 0);
    ReadAhead read_ahead(k, v, tokens, first * keys_at_a_time, std::min(S, last * keys_at_a_time));
    for (int64_t chunk = first; chunk < last; ++chunk) {
      const int64_t begin = chunk * keys_at_a_time, end = std::min(S, begin + keys_at_a_time), n = end - begin;
      float *sums = part(chunk, 0), *weights = sums + D + 2;  // of head 0; those of head h are h · room further
      int64_t read = 2 * begin;                               // keys and values
      const auto some_at_a_time = [&](const Tensor& x, const auto& work) {
        for (int64_t s = begin, some = 0; s < end; s += some) {
          some = tokens.together(s, std::min(in_cache, end - s));
          read += some;
          if (tokens.ask_ahead) read_ahead.go_on_to(read);
          work(s - begin, as_floats(x, tokens.row(s) * row, some * row, floats), some);
        }
      };
      some_at_a_time(k, [&](int64_t at, const float* keys, int64_t some) {
        dots_with_keys(weights + at, room, q.data(), keys, some, heads);
      });
      for (int64_t h = 0; h < H; ++h) {
        Eigen::Map<Eigen::ArrayXf> scores(weights + h * room, n);
        float *largest = sums + h * room + D, *sum = largest + 1;
        scores *= scale;
        soft_cap(scores, options.soft_cap);
        *largest = scores.maxCoeff();
        scores = (scores - *largest).exp();
        *sum = scores.sum();
        std::fill_n(sums + h * room, D, 0.0f);
      }
      some_at_a_time(v, [&](int64_t at, const float* values, int64_t some) {
        add_weighted_values(sums, weights + at, room, values, some, heads);
      });
    }
  });

  for (int64_t h = 0; h < H; ++h) {
    float largest = part(0, h)[D], sum = 0;
    for (int64_t chunk = 1; chunk < chunks; ++chunk) largest = std::max(largest, part(chunk, h)[D]);
    Eigen::Map<RowVector> result(out.data() + h * D, D);
    result.setZero();
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const float weight = std::exp(part(chunk, h)[D] - largest);
      result += weight * Eigen::Map<const RowVector>(part(chunk, h), D);
      sum += weight * part(chunk, h)[D + 1];
    }
    result /= sum;
  }
}

/// Keys or values of one head, n of (S, G, D) from `first` on.
struct RowsOfHead {
  const float* data;
  int64_t stride;  ///< floats from row to row
};

/// As f32: where they lie, or upcast into `room` (n, D).
static RowsOfHead rows_of_head(const Tensor& x, int64_t g, int64_t first, int64_t n, float* room) {
  const int64_t D = x.cols(), row = x.count() / x.dim(0), at = first * row + g * D;
  if (x.dtype() == DType::f32) return {x.data() + at, row};
  upcast(room, x, at, D, n, row);
  return {room, D};
}

/// The values in panels: as they lie where whole panels can be read of them, else copied, with 0 behind each row.
static Panels panels_of_values(const RowsOfHead& values, int64_t n, int64_t D, float* room) {
  const int64_t width = in_whole_panels(D);
  if (width == D) return {values.data, values.stride, 1};
  for (int64_t s = 0; s < n; ++s) {
    std::copy_n(values.data + s * values.stride, D, room + s * width);
    std::fill(room + s * width + D, room + (s + 1) * width, 0.0f);
  }
  return {room, width, 1};
}

/// Scores of a query at position p with n keys from `begin` on: -infinity where it does not see the key, and behind
/// the last.
static void hide_unseen(float* scores, int64_t begin, int64_t n, int64_t p, const AttentionOptions& options) {
  const int64_t first = std::clamp<int64_t>(first_visible(options, p) - begin, 0, n);
  const int64_t end = options.causal ? std::clamp<int64_t>(p + 1 - begin, first, n) : n;
  std::fill(scores, scores + first, -HUGE_VALF);
  std::fill(scores + end, scores + keys_at_a_time, -HUGE_VALF);
}

// A row is one query with one of the heads that share keys and values. Some rows at a time meet some keys at a time,
// and what they have read of the values until then is kept by one softmax that goes on from block to block: the scores
// of all keys never stand anywhere. (Dao and others 2022, "FlashAttention", algorithm 1.)
void CpuOps::sdpa_many(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const SdpaSizes& sizes,
                       const AttentionOptions& options) {
  const int64_t T = sizes.T, S = sizes.S, D = sizes.D, H = sizes.H, G = sizes.G, group = H / G, rows = T * group;
  const int64_t width = in_whole_panels(D), room = room_of_rows(D);
  const bool threads = worth_threads_in_attention(T, S, H * D);
  const int64_t upcast_room = k.dtype() == DType::f32 ? 0 : keys_at_a_time * D;  // of each thread
  need(scores_, room * (threads ? omp_get_max_threads() : 1));
  need(upcast_, upcast_room * (threads ? omp_get_max_threads() : 1));
  const float scale = scale_of(options, D);

  const int64_t blocks = (rows + rows_at_a_time - 1) / rows_at_a_time;
  each(blocks * G, threads, [&](int64_t work) {
    const int64_t top = work / G * rows_at_a_time, g = work % G, n = std::min(rows_at_a_time, rows - top);
    const int64_t thread = threads ? omp_get_thread_num() : 0;
    float* floats = upcast_.data() + thread * upcast_room;
    float* keys_room = scores_.data() + thread * room;          // (width of panels, keys at a time); of values as well
    float* scores = keys_room + width * keys_at_a_time;         // (n, keys at a time)
    float* queries = scores + rows_at_a_time * keys_at_a_time;  // (n, D)
    float* read = queries + rows_at_a_time * D;                 // (n, width)
    float *largest = read + rows_at_a_time * width, *sum = largest + rows_at_a_time;  // (n), (n)
    const auto at = [&](int64_t i) { return ((top + i) / group * H + g * group + (top + i) % group) * D; };
    const auto position = [&](int64_t i) { return S - T + (top + i) / group; };
    for (int64_t i = 0; i < n; ++i)
      Eigen::Map<RowVector>(queries + i * D, D) = scale * Eigen::Map<const RowVector>(q.data() + at(i), D);
    std::fill_n(read, n * width, 0.0f);
    std::fill_n(largest, n, -HUGE_VALF), std::fill_n(sum, n, 0.0f);

    const int64_t seen = options.causal ? position(n - 1) + 1 : S;
    for (int64_t begin = first_visible(options, position(0)), some = 0; begin < seen; begin += some) {
      some = std::min(keys_at_a_time, seen - begin);
      const RowsOfHead keys = rows_of_head(k, g, begin, some, floats);
      product_with_panels(scores, keys_at_a_time, queries, D, n, D,
                          transposed_panels(keys_room, keys.data, some, D, keys.stride), some, false);
      for (int64_t i = 0; i < n; ++i) {
        float* row = scores + i * keys_at_a_time;
        soft_cap(Eigen::Map<Eigen::ArrayXf>(row, some), options.soft_cap);
        hide_unseen(row, begin, some, position(i), options);
        const float factor = weigh(row, keys_at_a_time, largest[i], sum[i]);
        Eigen::Map<RowVector>(read + i * width, width) *= factor;
      }
      const RowsOfHead values = rows_of_head(v, g, begin, some, floats);
      product_with_panels(read, width, scores, keys_at_a_time, n, some, panels_of_values(values, some, D, keys_room), D,
                          true);
    }
    for (int64_t i = 0; i < n; ++i)
      Eigen::Map<RowVector>(out.data() + at(i), D) = Eigen::Map<RowVector>(read + i * width, D) / sum[i];
  });
}

void CpuOps::sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  SdpaSizes sizes = require_sdpa(Place::host, out, q, k, v);
  if (sizes.T > 1) return sdpa_many(out, q, k, v, sizes, options);
  if (sizes.T == 0) return;
  const TokenRows tokens{.first = first_visible(options, sizes.S - 1)};
  sizes.S -= tokens.first;
  sdpa_one(out, q, k, v, tokens, sizes, options);
}

}  // namespace rungs
