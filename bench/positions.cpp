// What a cached token costs at each position: only attention may grow, by the keys and values that it reads.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "benchmark.hpp"
#include "folder.hpp"
#include "rungs/measure/bandwidth.hpp"
#include "rungs/measure/plot.hpp"
#include "rungs/model/model.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;

namespace {

constexpr int64_t context = 4096, at_once = 512, repeated = 4;
constexpr int rounds = 25;

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark("positions", "milliseconds of a token at positions 0 to 4095");
  benchmark.read(argc, argv);
  Config config = *preset("stories15M");
  config.max_seq_len = context;
  const Folder folder;
  save_random_llama(folder.path, config, DType::f32, 1);
  CpuOps ops;
  const auto model = load_model(ops, folder.path, {.max_rows = at_once});
  KvCache cache(ops, config, 1, context);
  Tensor logits = ops.allocate({1, config.vocab_size});
  Batch batch;
  for (int64_t first = 0; first < context; first += at_once) {
    const std::vector<int32_t> tokens(size_t(at_once), int32_t(first / at_once) + 5);
    batch.clear();
    batch.add(0, tokens, first, true);
    model->forward(logits, batch, &cache);
  }

  // Round by round, so that every position meets the same machine.
  std::vector<int64_t> positions;
  for (int64_t p = 1; p < context; p *= 2) positions.push_back(p - 1);
  for (int64_t p = 512; p <= context; p += 512) positions.push_back(p - 1);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  std::vector<std::vector<double>> seconds(positions.size());
  const int threads = omp_get_max_threads();
  std::vector<double> memory;
  for (int round = 0; round < rounds; ++round) {
    memory.push_back(bandwidth(threads));
    for (size_t i = 0; i < positions.size(); ++i) {
      const int32_t token = 7;
      batch.clear();
      batch.add(0, std::span(&token, 1), positions[i], true);
      const double start = now();
      for (int64_t n = 0; n < repeated; ++n) model->forward(logits, batch, &cache);
      seconds[i].push_back((now() - start) / double(repeated));
    }
  }

  const double a_position = double(config.num_layers * config.num_kv_heads * config.head_dim) * 2 * sizeof(float);
  fmt::print("{}, {} threads, {:.1f} GB/s; a 15M-shaped LLaMA in f32, whose cache takes {:.1f} KB a position\n\n",
             machine(), threads, median(memory) * 1e-9, a_position * 1e-3);
  fmt::print("{:>8}  {:>11}  {:>20}\n", "position", "ms a token", "GB/s through cache");
  nlohmann::ordered_json rows;
  Curve curve{"measured", "#0072b2", {}, {}}, wanted{"reading the cache at the speed of memory", "#999999", {}, {}};
  const double first = median(seconds[0]);
  for (size_t i = 0; i < positions.size(); ++i) {
    const double time = median(seconds[i]), keys = double(positions[i] + 1), speed = keys * a_position / (time - first);
    const bool far = positions[i] >= 511;  // before, the difference drowns in noise
    fmt::print("{:>8}  {:>11.3f}  {:>20}\n", positions[i], time * 1e3, far ? fmt::format("{:.1f}", speed * 1e-9) : "");
    rows.push_back({{"position", positions[i]}, {"milliseconds", time * 1e3}});
    curve.x.push_back(double(positions[i])), curve.y.push_back(time * 1e3);
    wanted.x.push_back(double(positions[i])), wanted.y.push_back((first + keys * a_position / median(memory)) * 1e3);
  }
  if (has_gnuplot())
    draw_picture(std::filesystem::path(benchmark.out()).replace_extension(".png"), "a cached token at each position",
                 {{"15M-shaped LLaMA, f32", "position", "milliseconds a token", {curve, wanted}}});
  benchmark.write({{"threads", threads},
                   {"memory_gigabytes_per_second", median(memory) * 1e-9},
                   {"cache_bytes_a_position", a_position},
                   {"rounds", rounds},
                   {"rows", rows}});
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "positions: {}\n", e.what());
  return 1;
}
