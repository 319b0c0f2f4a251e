// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/tile_bytes.cpp"
#include "rungs/ops/tile_bytes.hpp"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "rungs/ops/blocks_of_x.hpp"
#include "rungs/ops/dot_instructions-inl.hpp"
#include "rungs/ops/panel-inl.hpp"
#include "rungs/ops/quantized_blocks-inl.hpp"
#include "rungs/ops/tile_registers.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if RUNGS_DOT_INSTRUCTIONS

namespace {

using WholeLanes = hn::RebindToSigned<PanelLanes>;

/// Blocks of 16 rows of w: the numbers with their sign, where they lie or unpacked, and the scales.
struct TilesOfW {
  const int8_t* number;
  int64_t row_bytes, block_bytes;  ///< from one to the next
  const float (*scale)[tile_rows];
};

/// A block of 16 rows of x, as pack_tiles_of_bytes() lays it: four numbers of each row side by side.
struct TileOfX {
  float scale[tile_rows];
  int8_t number[block_elements / 4][tile_rows][4];
};

constexpr int64_t blocks_at_a_time = 32;  ///< of w and of x, which the nearest cache holds
constexpr int64_t rows_at_a_time = 256;   ///< of x, whose sums wait there for the next blocks

constexpr int64_t under_way = 8;  ///< blocks whose sums are in memory, between a tile register and a vector

/// The lower four bits of 16 bytes, then the upper ones: numbers from -8 to 7.
HWY_INLINE void unpack(int8_t* out, const q4_0& block) {
  const hn::FixedTag<uint8_t, block_elements> bytes;
  const hn::FixedTag<uint16_t, block_elements / 2> pairs;
  HWY_ALIGN static constexpr uint16_t shifts[] = {0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4};
  const auto twice = hn::BitCast(pairs, hn::LoadDup128(bytes, block.q));
  const auto four_bits = hn::And(hn::BitCast(bytes, hn::Shr(twice, hn::Load(pairs, shifts))), hn::Set(bytes, 15));
  hn::Store(hn::Sub(four_bits, hn::Set(bytes, 8)), bytes, reinterpret_cast<uint8_t*>(out));
}

/// n blocks of 16 rows of w.
struct Panel {
  HWY_ALIGN float scale[blocks_at_a_time][tile_rows];
  HWY_ALIGN int8_t number[blocks_at_a_time][tile_rows][block_elements];  ///< of q4_0

  /// The rows are `stride` blocks apart. Where there are fewer, the last has the scales of those that are missing.
  template <class Q>
  HWY_INLINE TilesOfW unpacked(const Q* w, int64_t rows, int64_t stride, int64_t n) {
    const WholeLanes whole;
    const auto row = hn::Min(hn::Iota(whole, 0), hn::Set(whole, int32_t(rows - 1)));
    const auto at = hn::Mul(row, hn::Set(whole, int32_t(stride * int64_t(sizeof(Q)))));
    for (int64_t b = 0; b < n; ++b) {
      const auto scales = hn::GatherOffset(whole, reinterpret_cast<const int32_t*>(w + b), at);
      hn::Store(lower_halves(PanelLanes(), scales), PanelLanes(), scale[b]);
      if constexpr (std::is_same_v<Q, q4_0>)
        for (int64_t r = 0; r < rows; ++r) unpack(number[b][r], w[r * stride + b]);
    }
    if constexpr (std::is_same_v<Q, q4_0>)
      return {number[0][0], block_elements, sizeof(number[0]), scale};
    else
      return {w->q, stride * int64_t(sizeof(Q)), sizeof(Q), scale};
  }
};

/// Register i holds the sums of a block, 4 and 6 of every second w's and x's, 5 and 7 those of the others.
template <int i>
HWY_INLINE void multiply(const TilesOfW& w, const TileOfX* x, int64_t b) {
  zero_tile<i>();
  load_tile<4 + i % 2>(w.number + b * w.block_bytes, w.row_bytes);
  load_tile<6 + i % 2>(x[b].number, bytes_of_tile_row);
  add_tiles_of_bytes<i, 4 + i % 2, 6 + i % 2>();
}

/// sums, [row of w][row of x], = those of n blocks, added to what stands there if it `adds`. A tile register adds up a
/// block; its sums go through memory.
HWY_INLINE void add_blocks(float* sums, const TilesOfW& w, const TileOfX* x, int64_t n, bool adds, const Ahead& ahead,
                           int64_t block_bytes) {
  const PanelLanes d;
  HWY_ALIGN int32_t products[under_way][tile_rows][tile_rows];
  hn::Vec<PanelLanes> total[tile_rows];
  HWY_UNROLL(16) for (int r = 0; r < tile_rows; ++r) total[r] = adds ? hn::Load(d, sums + r * tile_rows) : hn::Zero(d);
  for (int64_t first = 0; first < n; first += under_way) {
    const int64_t some = std::min(under_way, n - first);
    for (int64_t i = 0; i < some; i += 4) {  // where there are fewer, the last once more
      const int64_t b = first + i, last = n - 1;
      multiply<0>(w, x, b), multiply<1>(w, x, std::min(b + 1, last));
      multiply<2>(w, x, std::min(b + 2, last)), multiply<3>(w, x, std::min(b + 3, last));
      store_tile<0>(products[i], bytes_of_tile_row), store_tile<1>(products[i + 1], bytes_of_tile_row);
      store_tile<2>(products[i + 2], bytes_of_tile_row), store_tile<3>(products[i + 3], bytes_of_tile_row);
    }
    for (int64_t i = 0; i < some; ++i) {
      const int64_t b = first + i;
      for (int64_t k = 0; k < ahead.rows; ++k) hwy::Prefetch(ahead.first + k * ahead.row_bytes + b * block_bytes);
      const auto x_scale = hn::LoadU(d, x[b].scale);
      HWY_UNROLL(16) for (int r = 0; r < tile_rows; ++r) {
        const auto whole = hn::Load(WholeLanes(), products[i][r]);
        total[r] = hn::MulAdd(hn::ConvertTo(d, whole), hn::Mul(hn::Set(d, w.scale[b][r]), x_scale), total[r]);
      }
    }
  }
  HWY_UNROLL(16) for (int r = 0; r < tile_rows; ++r) hn::Store(total[r], d, sums + r * tile_rows);
}

void set_shapes(int64_t rows_of_w) {
  TileShapes shapes;
  for (int i = 0; i < 4; ++i) shapes.set(i, rows_of_w);
  for (int i = 0; i < 2; ++i) shapes.set(4 + i, rows_of_w, block_elements), shapes.set(6 + i, block_elements / 4);
  use_tiles(shapes);
}

template <class Q>
void product(float* out, int64_t N, const TileOfX* x, const Q* w, int64_t K, int64_t blocks, int64_t first,
             int64_t last) {
  int64_t shaped = 0;
  HWY_ALIGN float sums[rows_at_a_time / tile_rows][tile_rows * tile_rows];
  Panel panel;
  for (int64_t k = first; k < last; k += tile_rows)
    for (int64_t top = 0; top < N; top += rows_at_a_time) {
      const int64_t rows_of_w = std::min(last - k, tile_rows), end = std::min(N, top + rows_at_a_time);
      if (rows_of_w != shaped) set_shapes(shaped = rows_of_w);
      for (int64_t b = 0; b < blocks; b += blocks_at_a_time) {
        const int64_t n = std::min(blocks_at_a_time, blocks - b);
        const TilesOfW tiles = panel.unpacked(w + k * blocks + b, rows_of_w, blocks, n);
        const int64_t next_b = b + n < blocks ? b + n : 0, next_k = next_b > 0 ? k : k + tile_rows;
        const Ahead ahead{reinterpret_cast<const uint8_t*>(w + next_k * blocks + next_b),
                          std::clamp<int64_t>(last - next_k, 0, tile_rows), blocks * int64_t(sizeof(Q))};
        for (int64_t row = top; row < end; row += tile_rows) {
          float *of_tile = sums[(row - top) / tile_rows], *o = out + row * K + k;
          const int64_t rows_of_x = std::min(end - row, tile_rows);
          const bool is_last = b + n == blocks;
          if (is_last) ask_for(o, K, rows_of_x);
          add_blocks(of_tile, tiles, x + row / tile_rows * blocks + b, n, b > 0,
                     ahead.share(row - top, rows_of_x, end - top), sizeof(Q));
          if (is_last) store_transposed(o, K, of_tile, rows_of_w, rows_of_x);
        }
      }
    }
  release_tiles();
}

}  // namespace

void product_of_bytes_in_tiles(float* out, int64_t N, const float* x, const Tensor& w, int64_t first, int64_t last) {
  const auto* tiles = reinterpret_cast<const TileOfX*>(x);
  const int64_t K = w.rows(), blocks = w.cols() / block_elements;
  if (w.dtype() == DType::q8_0) return product(out, N, tiles, w.data<q8_0>(), K, blocks, first, last);
  product(out, N, tiles, w.data<q4_0>(), K, blocks, first, last);
}

/// out = one tile of rows of x, those beyond its end zeros.
void pack_tile_of_bytes(float* out, const float* x, int64_t rows, int64_t C) {
  constexpr int64_t floats_of_block = sizeof(BlockOfX) / sizeof(float);
  HWY_ALIGN float some[tile_rows][blocks_at_a_time * floats_of_block] = {};
  auto* tile = reinterpret_cast<TileOfX*>(out);
  for (int64_t c = 0; c < C; c += blocks_at_a_time * block_elements) {
    const int64_t n = std::min(blocks_at_a_time, (C - c) / block_elements);
    for (int64_t r = 0; r < rows; ++r) quantize_elements(some[r], x + r * C + c, n * block_elements);
    const uint8_t* quad[4];
    for (int64_t i = 0; i < 4; ++i) quad[i] = reinterpret_cast<const uint8_t*>(some[4 * i]) + offsetof(BlockOfX, q);
    for (int64_t b = 0; b < n; ++b, ++tile) {
      for (int64_t r = 0; r < tile_rows; ++r) tile->scale[r] = some[r][b * floats_of_block];
      for (int64_t half = 0; half < 2; ++half) {
        hn::Vec<PanelBits> columns[4];
        transpose(quad, sizeof(some[0]), columns);
        for (int64_t i = 0; i < 4; ++i)
          hn::StoreU(columns[i], PanelBits(), reinterpret_cast<uint32_t*>(tile->number[4 * half + i]));
        for (auto& q : quad) q += half == 0 ? 16 : sizeof(BlockOfX) - 16;
      }
    }
  }
}

#else

void product_of_bytes_in_tiles(float*, int64_t, const float*, const Tensor&, int64_t, int64_t) {}  // not called
void pack_tile_of_bytes(float*, const float*, int64_t, int64_t) {}                                 // not called

#endif

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(product_of_bytes_in_tiles);
HWY_EXPORT(pack_tile_of_bytes);

void tile_product_of_bytes(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(product_of_bytes_in_tiles)(out.data(), out.rows(), x.data(), weight, first, last);
}

void pack_tiles_of_bytes(Tensor& out, const Tensor& x, int64_t first, int64_t last) {
  for (int64_t n = first; n < last; n += tile_rows) HWY_DYNAMIC_DISPATCH(pack_tile_of_bytes)
  (out.data() + n * out.cols(), x.data() + n * x.cols(), std::min(tile_rows, x.rows() - n), x.cols());
}

}  // namespace rungs
#endif
