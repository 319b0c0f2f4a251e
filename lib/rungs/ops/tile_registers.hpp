/// The processor's tile registers (AMX): eight, each of up to 16 rows of 64 bytes, and one instruction that adds the
/// product of two of them to a third. Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", vol. 1,
/// ch. 18. Where a processor has none (uses_tiles() in ops/processor.hpp), none of this is called.
#pragma once

#include <cstdint>

namespace rungs {

inline constexpr int64_t tile_rows = 16;          ///< of a register, at most
inline constexpr int64_t bytes_of_tile_row = 64;  ///< at most

#if defined(__x86_64__)

/// How many rows of how many bytes each register has, as the processor reads it.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, unused[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void set(int tile, int64_t rows_of_tile, int64_t bytes = bytes_of_tile_row) {
    rows[tile] = uint8_t(rows_of_tile), row_bytes[tile] = uint16_t(bytes);
  }
};

/// Gives the registers of this thread these shapes, and zeros.
inline void use_tiles(const TileShapes& shapes) { asm volatile("ldtilecfg %0" : : "m"(shapes)); }
/// After the last: a thread whose registers are in use has 8 KiB more to keep when another takes its processor.
inline void release_tiles() { asm volatile("tilerelease"); }

template <int tile>
inline void zero_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(tile));
}

/// Its rows begin `stride` bytes apart.
template <int tile>
inline void load_tile(const void* first, int64_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(tile), "r"(first), "r"(stride) : "memory");
}
template <int tile>
inline void store_tile(void* first, int64_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(tile), "r"(first), "r"(stride) : "memory");
}

/// sum[m, n] += a[m, 2i] b[i, 2n] + a[m, 2i + 1] b[i, 2n + 1] for all i: bf16, and f32 sums.
template <int sum, int a, int b>
inline void add_tiles_of_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sum), "i"(a), "i"(b));
}

/// sum[m, n] += a[m, 4i + j] b[i, 4n + j] for all i and j from 0 to 3: bytes with a sign, and sums of 32 bits.
template <int sum, int a, int b>
inline void add_tiles_of_bytes() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sum), "i"(a), "i"(b));
}

#endif

}  // namespace rungs
