/// Which tile of c a block computes. Blocks run in the order of their numbers, as many at once as there are
/// multiprocessors, and those that run at once should read the same rows of a and b: then these come out of the L2
/// cache.
#pragma once

#include <cuda_runtime.h>

namespace rungs {

/// A tile's row and column among the tiles of c.
struct TilePlace {
  int m, n;
};

/// The tiles are taken in bands of 16 rows of tiles, down one column of the band after the other. 132 blocks at once
/// then read 16 tiles of a and 8 or 9 of b; along the rows of c it would be 1 or 2 of a and 131 of b, and all of b
/// again for the next row. bench/results/l2_traffic.json has the bytes.
__host__ __device__ inline TilePlace tile_place(int tile, int rows_of_tiles, int columns_of_tiles) {
  constexpr int band = 16;
  const int first = tile / (band * columns_of_tiles) * band;  // row of the band's first tile
  const int rows = rows_of_tiles - first < band ? rows_of_tiles - first : band,
            in_band = tile - first * columns_of_tiles;
  return {first + in_band % rows, in_band / rows};
}

}  // namespace rungs
