// Compiled once for each kind of processor; the best one for the machine it runs on is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rungs/ops/tile_product.cpp"
#include "rungs/ops/tile_product.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "rungs/ops/dot.hpp"
#include "rungs/ops/dot_instructions-inl.hpp"
#include "rungs/ops/panel-inl.hpp"
#include "rungs/ops/processor.hpp"
#include "rungs/ops/tile_bytes.hpp"
#include "rungs/ops/tile_registers.hpp"

HWY_BEFORE_NAMESPACE();
namespace rungs::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if RUNGS_DOT_INSTRUCTIONS

namespace {

/// Pairs of bf16 in a row of a tile: elements of a row of w, or rows of x.
constexpr int64_t pairs_of_tile = bytes_of_tile_row / 4;

/// Bytes of x, or of w, that a core's second cache keeps while the other passes by.
constexpr int64_t kept_near = 1 << 20;

/// Registers 0 to 3 hold sums, [tile of w][tile of x], 4 and 5 w, 6 and 7 x.
void set_shapes(int64_t rows_of_w) {
  TileShapes shapes;
  for (int i = 0; i < 2; ++i) {
    const int64_t rows = i == 1 && rows_of_w > tile_rows ? rows_of_w - tile_rows : std::min(rows_of_w, tile_rows);
    for (int j = 0; j < 2; ++j) shapes.set(2 * i + j, rows);
    shapes.set(4 + i, rows), shapes.set(6 + i, pairs_of_tile);
  }
  use_tiles(shapes);
}

/// sums = those of two tiles' rows of w, each of row_bytes, with one tile's or two tiles' rows of x. Where there is one
/// of w only, it is the second, too.
template <bool two_of_x>
void multiply(float (&sums)[4][tile_rows * tile_rows], const uint8_t* w, int64_t rows_of_w, const float* x,
              int64_t row_bytes) {
  const uint8_t* w_2 = rows_of_w > tile_rows ? w + tile_rows * row_bytes : w;
  const float* x_2 = x + tile_rows * row_bytes / 4;
  zero_tile<0>(), zero_tile<2>();
  if (two_of_x) zero_tile<1>(), zero_tile<3>();
  for (int64_t c = 0; c < row_bytes; c += bytes_of_tile_row) {
    load_tile<4>(w + c, row_bytes);
    load_tile<6>(x + c * tile_rows / 4, bytes_of_tile_row);
    add_tiles_of_bf16<0, 4, 6>();
    load_tile<5>(w_2 + c, row_bytes);
    add_tiles_of_bf16<2, 5, 6>();
    if constexpr (two_of_x) {
      load_tile<7>(x_2 + c * tile_rows / 4, bytes_of_tile_row);
      add_tiles_of_bf16<1, 4, 7>();
      add_tiles_of_bf16<3, 5, 7>();
    }
  }
  store_tile<0>(sums[0], bytes_of_tile_row), store_tile<2>(sums[2], bytes_of_tile_row);
  if (two_of_x) store_tile<1>(sums[1], bytes_of_tile_row), store_tile<3>(sums[3], bytes_of_tile_row);
}

/// Adds the sums of the lower parts to those of the upper ones.
void add_parts(float* sums) {
  for (int64_t k = 0; k < tile_rows; ++k)
    for (int64_t n = 0; n < rows_in_two_parts; ++n)
      sums[k * tile_rows + n] += sums[k * tile_rows + rows_in_two_parts + n];
}

}  // namespace

void product_in_tiles(float* out, int64_t N, const float* x, const Tensor& w, int64_t first, int64_t last) {
  const int64_t K = w.rows(), row_bytes = 2 * w.cols(), two_tiles = 2 * tile_rows;
  const int64_t in_turn = N * row_bytes <= kept_near ? 1 : std::max<int64_t>(1, kept_near / row_bytes / two_tiles);
  int64_t shaped = 0;
  HWY_ALIGN float sums[4][tile_rows * tile_rows];
  for (int64_t top = first; top < last; top += in_turn * two_tiles)
    for (int64_t n = 0; n < N; n += two_tiles)
      for (int64_t k = top; k < std::min(last, top + in_turn * two_tiles); k += two_tiles) {
        const int64_t rows_of_w = std::min(last - k, two_tiles), rows_of_x = std::min(N - n, two_tiles);
        if (rows_of_w != shaped) set_shapes(shaped = rows_of_w);
        const auto* w_k = static_cast<const uint8_t*>(w.raw()) + k * row_bytes;
        const float* x_n = x + n * row_bytes / 4;
        for (int64_t i = 0; i < 2; ++i) ask_for(out + n * K + k + i * tile_rows, K, rows_of_x);
        if (rows_of_x > tile_rows)
          multiply<true>(sums, w_k, rows_of_w, x_n, row_bytes);
        else
          multiply<false>(sums, w_k, rows_of_w, x_n, row_bytes);
        if (N <= rows_in_two_parts) add_parts(sums[0]), add_parts(sums[2]);
        for (int64_t i = 0; i * tile_rows < rows_of_w; ++i)
          for (int64_t j = 0; j * tile_rows < rows_of_x; ++j)
            store_transposed(out + (n + j * tile_rows) * K + k + i * tile_rows, K, sums[2 * i + j],
                             std::min(rows_of_w - i * tile_rows, tile_rows),
                             std::min(rows_of_x - j * tile_rows, tile_rows));
      }
  release_tiles();
}

/// out = one tile of rows of x, those beyond its end zeros: the same pair of all rows side by side. In two parts they
/// are rows of their own.
void pack_tile(float* out, const float* x, int64_t rows, int64_t C, bool in_two_parts) {
  constexpr int64_t some = 256;
  HWY_ALIGN float pairs[tile_rows][some] = {};
  for (int64_t c = 0; c < C; c += 2 * some) {
    const int64_t n = std::min(some, C / 2 - c / 2);
    for (int64_t r = 0; r < rows; ++r) {
      const float* x_r = x + r * C + c;
      for (int64_t i = 0; i < n && in_two_parts; i += panel_lanes)
        two_parts(pairs[r] + i, pairs[rows_in_two_parts + r] + i, x_r + 2 * i);
      if (!in_two_parts) round_pairs_by_instruction(pairs[r], x_r, n);
    }
    const uint8_t* quad[4];
    for (int64_t i = 0; i < 4; ++i) quad[i] = reinterpret_cast<const uint8_t*>(pairs[4 * i]);
    for (int64_t i = 0; i < n; i += 4) {
      hn::Vec<PanelBits> columns[4];
      transpose(quad, some * 4, columns);
      for (const auto& column : columns)
        hn::StoreU(hn::BitCast(PanelLanes(), column), PanelLanes(), out), out += tile_rows;
      for (int64_t j = 0; j < 4; ++j) quad[j] += 16;
    }
  }
}

#else

void product_in_tiles(float*, int64_t, const float*, const Tensor&, int64_t, int64_t) {}  // not called
void pack_tile(float*, const float*, int64_t, int64_t, bool) {}                           // not called

#endif

}  // namespace rungs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rungs {

HWY_EXPORT(product_in_tiles);
HWY_EXPORT(pack_tile);

/// Rows of x from which on tiles pay beside quantized weights.
constexpr int64_t rows_worth_tiles_of_bytes = 12;

bool takes_tiles(int64_t N, int64_t C, DType weight) {
  if (!uses_tiles()) return false;
  if (weight == DType::q8_0 || weight == DType::q4_0) return N >= rows_worth_tiles_of_bytes && C > 0;
  return N > 1 && suits_bf16_dots(weight, C) && !exact_products();
}

int64_t in_whole_tiles(int64_t N) { return (N + tile_rows - 1) / tile_rows * tile_rows; }

int64_t tiled_floats(int64_t C, DType weight) { return is_quantized(weight) ? tiled_floats_of_bytes(C) : C / 2; }

void pack_tiles(Tensor& out, const Tensor& x, DType weight, int64_t first, int64_t last) {
  if (is_quantized(weight)) return pack_tiles_of_bytes(out, x, first, last);
  for (int64_t n = first; n < last; n += tile_rows) HWY_DYNAMIC_DISPATCH(pack_tile)
  (out.data() + n * out.cols(), x.data() + n * x.cols(), std::min(tile_rows, x.rows() - n), x.cols(),
   x.rows() <= rows_in_two_parts);
}

void tile_product(Tensor& out, const Tensor& x, const Tensor& weight, int64_t first, int64_t last) {
  if (is_quantized(weight.dtype())) return tile_product_of_bytes(out, x, weight, first, last);
  HWY_DYNAMIC_DISPATCH(product_in_tiles)(out.data(), out.rows(), x.data(), weight, first, last);
}

}  // namespace rungs
#endif
