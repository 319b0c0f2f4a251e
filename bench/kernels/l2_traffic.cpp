// What matmul_07 reads of a GPU's memory, by the order in which its blocks take their tiles: a model, not a
// measurement. The L2 cache keeps the pieces that were used last (LRU), as many blocks run at once as there are
// multiprocessors, and they go through K in step. RUNGS_DEVICE says which GPU.
#include <fmt/format.h>

#include <functional>
#include <list>
#include <unordered_map>

#include "../benchmark.hpp"
#include "kernels/emulator/engine/device.hpp"
#include "kernels/matmul/tile_order.cuh"

using namespace rungs;

namespace {

// As in kernels/matmul/07_mma_sync.cu; a is there twice, as f32 split into two bf16.
constexpr int tile_m = 128, tile_n = 256, depth = 64, parts = 2, bytes_of_bf16 = 2;

struct Shape {
  const char* name;
  int M, N, K;
};

using Order = std::function<TilePlace(int tile, int rows_of_tiles, int columns_of_tiles)>;

/// A cache of `capacity` bytes that forgets what was used longest ago.
class Lru {
 public:
  explicit Lru(int64_t capacity) : free_(capacity) {}
  /// \returns the bytes that come from memory: all of the piece, or none.
  int64_t read(int64_t piece, int64_t bytes) {
    const auto found = where_.find(piece);
    if (found != where_.end()) {
      used_.splice(used_.begin(), used_, found->second);
      return 0;
    }
    used_.push_front({piece, bytes});
    where_[piece] = used_.begin();
    for (free_ -= bytes; free_ < 0; used_.pop_back()) {
      free_ += used_.back().second;
      where_.erase(used_.back().first);
    }
    return bytes;
  }

 private:
  int64_t free_;
  std::list<std::pair<int64_t, int64_t>> used_;  // piece and bytes, the last used first
  std::unordered_map<int64_t, std::list<std::pair<int64_t, int64_t>>::iterator> where_;
};

int64_t bytes_read(const Shape& shape, const Order& order, const emulator::Device& device) {
  const int rows = (shape.M + tile_m - 1) / tile_m, columns = (shape.N + tile_n - 1) / tile_n;
  const int64_t steps = parts * ((shape.K + depth - 1) / depth), of_b = steps / parts;
  Lru cache(device.l2_bytes);
  int64_t bytes = 0;
  for (int first = 0; first < rows * columns; first += device.multiprocessors)
    for (int64_t step = 0; step < steps; ++step)
      for (int tile = first; tile < std::min(rows * columns, first + device.multiprocessors); ++tile) {
        const TilePlace place = order(tile, rows, columns);
        bytes += cache.read(place.m * steps + step, tile_m * depth * bytes_of_bf16);
        bytes += cache.read(rows * steps + place.n * of_b + step % of_b, tile_n * depth * bytes_of_bf16);
      }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark(
      "l2_traffic",
      "what matmul_07 reads of a GPU's memory by the order of its tiles, a model; RUNGS_DEVICE says which GPU");
  benchmark.read(argc, argv);
  const Shape shapes[] = {{"8B gate and up, 2048 tokens", 2048, 28672, 4096},
                          {"8B down, 2048 tokens", 2048, 4096, 14336},
                          {"8B q, k and v, 2048 tokens", 2048, 6144, 4096},
                          {"8B gate and up, 8192 tokens", 8192, 28672, 4096},
                          {"1B gate and up, 2048 tokens", 2048, 16384, 2048}};
  const Order along_rows = [](int tile, int, int columns) { return TilePlace{tile / columns, tile % columns}; };
  const emulator::Device& device = emulator::device();
  fmt::print("{}: {} multiprocessors, {} MB of L2. GB read of a and b, a model:\n\n", device.name,
             device.multiprocessors, device.l2_bytes >> 20);
  fmt::print("{:30} {:>10} {:>10} {:>10}\n", "", "each once", "along rows", "in bands");
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  for (const Shape& shape : shapes) {
    const int64_t once = bytes_of_bf16 * (int64_t(parts) * shape.M + shape.N) * shape.K;
    const int64_t rows = bytes_read(shape, along_rows, device), bands = bytes_read(shape, tile_place, device);
    fmt::print("{:30} {:10.2f} {:10.2f} {:10.2f}\n", shape.name, double(once) * 1e-9, double(rows) * 1e-9,
               double(bands) * 1e-9);
    figures.push_back({{"product", shape.name},
                       {"M", shape.M},
                       {"N", shape.N},
                       {"K", shape.K},
                       {"bytes_each_once", once},
                       {"bytes_along_rows", rows},
                       {"bytes_in_bands", bands}});
  }
  benchmark.write({{"device", device.name}, {"l2_bytes", device.l2_bytes}, {"products", figures}});
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "l2_traffic: {}\n", e.what());
  return 1;
}
