// Operations row by row and element by element, beside the bandwidth of copying; and that of copying and of reading.
#include <fmt/format.h>

#include <bit>
#include <numeric>

#include "bench.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/layer_norm/layer_norm.hpp"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/rope/rope.hpp"
#include "kernels/silu_mul/silu_mul.hpp"
#include "kernels/softmax/softmax.hpp"

namespace rungs::bench {

void measure_copies(Bench& bench) {
  if (!on_gpu && !bench.wants("copy")) return;
  const size_t bytes = bench.options().tiny ? 4096 : on_gpu ? size_t(1) << 30 : size_t(64) << 20;
  Rotated<float> to(bytes / 4, 1), from(bytes / 4, 1);
  from.fill(1);
  const auto poison = [&] { to.poison(); };
  const auto fault = [&](int) { return to.download(0) == from.download(0) ? 0.0 : INFINITY; };
  bench.ladder("copy", fmt::format("{:.1f} MB, read and written", double(bytes) * 1e-6), Unit::byte, 0, "");
  double best = 0;
  const auto measure = [&](const char* name, const std::function<void(int)>& run) {
    best = std::max(best, bench.measure({name, 2.0 * double(bytes), run, poison, fault}));
  };
  for (const int each : {1, 2, 4})
    measure(each == 1   ? "16 bytes a thread"
            : each == 2 ? "32 bytes a thread"
                        : "64 bytes a thread",
            [&, each](int) { copy_16_bytes(to[0], from[0], bytes / 16, each, nullptr); });
  measure("cudaMemcpy on the device",
          [&](int) { CUDA_CHECK(cudaMemcpyAsync(to[0], from[0], bytes, cudaMemcpyDeviceToDevice, nullptr)); });
  if (on_gpu) bench.copy_bandwidth = best;
}

void measure_reads(Bench& bench) {
  if (!on_gpu && !bench.wants("read")) return;
  const size_t bytes = bench.options().tiny ? 4096 : on_gpu ? size_t(1) << 30 : size_t(64) << 20;
  Rotated<float> from(bytes / 4, 1);
  Rotated<uint32_t> sums(read_threads, 1);
  from.fill(1);
  uint32_t wanted = 0;
  for (const float x : from.download(0)) wanted += std::bit_cast<uint32_t>(x);
  const auto fault = [&](int) {
    const std::vector<uint32_t> found = sums.download(0);
    return std::accumulate(found.begin(), found.end(), uint32_t(0)) == wanted ? 0.0 : INFINITY;
  };
  bench.ladder("read", fmt::format("{:.1f} MB, read only", double(bytes) * 1e-6), Unit::byte, bench.copy_bandwidth,
               "copying");
  double best = 0;
  for (const bool past_l1 : {false, true})
    for (const int each : {2, 4, 8})
      best = std::max(
          best,
          bench.measure({fmt::format("{} loads on their way{}", each, past_l1 ? ", past the L1" : ""), double(bytes),
                         [&](int) { read_16_bytes(sums[0], from[0], bytes / 16, each, past_l1, nullptr); },
                         [&] { sums.poison(); }, fault}));
  if (on_gpu) bench.read_bandwidth = best;
}

namespace {

/// Rows in, rows out: what the row by row ladders share.
struct RowsInOut {
  Bench& bench;
  int N, C;
  double work = 8.0 * N * C;
  int turns = bench.turns(8 * size_t(N) * C);
  Rotated<float> out{size_t(N) * C, turns}, x{size_t(N) * C, turns};
  Rotated<float> weight{size_t(C), 1}, bias{size_t(C), 1};

  RowsInOut(Bench& on, int n, int c) : bench(on), N(n), C(c) {
    x.fill(1, 4), weight.fill(2, 0.5f, 1), bias.fill(3, 0.1f);
  }
  std::string text() const { return fmt::format("{} x {}", N, C); }

  /// `row(want, x)` computes the results of one row in double precision.
  void measure(const char* name, const std::function<void(int)>& run,
               const std::function<void(std::vector<double>&, const float*)>& row, const char* wanted = "") {
    bench.measure({name, work, run, [this] { out.poison(); },
                   [&](int turn) {
                     const std::vector<float> got = out.download(turn), from = x.download(turn);
                     Worst worst;
                     std::vector<double> want(static_cast<size_t>(C));
                     for (int n = 0; n < N; n += n + 1 < N ? std::max(1, std::min(N / 50, N - 1 - n)) : 1) {
                       row(want, from.data() + size_t(n) * C);
                       for (int c = 0; c < C; ++c)
                         worst.compare(got[size_t(n) * C + c], want[c], 1e-5 * std::abs(want[c]) + 1e-6);
                     }
                     return worst.fraction;
                   },
                   wanted});
  }
};

void measure_softmax(Bench& bench) {
  RowsInOut r(bench, bench.size(8192, 512, 5), bench.size(8192, 1024, 67));
  bench.ladder("softmax", r.text(), Unit::byte, bench.copy_bandwidth, "copying");
  const auto row = [&](std::vector<double>& want, const float* x) {
    double sum = 0;
    const double top = *std::max_element(x, x + r.C);
    for (int c = 0; c < r.C; ++c) sum += want[c] = std::exp(x[c] - top);
    for (double& w : want) w /= sum;
  };
  r.measure(
      "01 thread per row", [&](int t) { softmax_01(r.out[t], r.x[t], r.N, r.C, nullptr); }, row);
  r.measure(
      "02 warp per row", [&](int t) { softmax_02(r.out[t], r.x[t], r.N, r.C, nullptr); }, row);
  r.measure(
      "03 online", [&](int t) { softmax_03(r.out[t], r.x[t], r.N, r.C, nullptr); }, row, "85%");
}

constexpr float epsilon = 1e-5f;

void measure_rms_norm(Bench& bench) {
  RowsInOut r(bench, bench.size(8192, 512, 5), bench.size(4096, 1024, 67));
  bench.ladder("rms_norm", r.text(), Unit::byte, bench.copy_bandwidth, "copying");
  const std::vector<float> weight = r.weight.download(0);
  const auto row = [&](std::vector<double>& want, const float* x) {
    double sum = 0;
    for (int c = 0; c < r.C; ++c) sum += double(x[c]) * x[c];
    const double scale = 1 / std::sqrt(sum / r.C + epsilon);
    for (int c = 0; c < r.C; ++c) want[c] = x[c] * scale * weight[c];
  };
  const float* w = r.weight[0];
  r.measure(
      "01 thread per row", [&](int t) { rms_norm_01(r.out[t], r.x[t], w, r.N, r.C, epsilon, nullptr); }, row);
  r.measure(
      "02 warp per row", [&](int t) { rms_norm_02(r.out[t], r.x[t], w, r.N, r.C, epsilon, nullptr); }, row);
  r.measure(
      "03 block per row", [&](int t) { rms_norm_03(r.out[t], r.x[t], w, r.N, r.C, epsilon, nullptr); }, row, "85%");
}

void measure_layer_norm(Bench& bench) {
  RowsInOut r(bench, bench.size(8192, 512, 5), bench.size(4096, 1024, 67));
  bench.ladder("layer_norm", r.text(), Unit::byte, bench.copy_bandwidth, "copying");
  const std::vector<float> weight = r.weight.download(0), bias = r.bias.download(0);
  const auto row = [&](std::vector<double>& want, const float* x) {
    double sum = 0, squares = 0;
    for (int c = 0; c < r.C; ++c) sum += x[c];
    const double mean = sum / r.C;
    for (int c = 0; c < r.C; ++c) squares += (x[c] - mean) * (x[c] - mean);
    const double scale = 1 / std::sqrt(squares / r.C + epsilon);
    for (int c = 0; c < r.C; ++c) want[c] = (x[c] - mean) * scale * weight[c] + bias[c];
  };
  const float *w = r.weight[0], *b = r.bias[0];
  r.measure(
      "01 thread per row", [&](int t) { layer_norm_01(r.out[t], r.x[t], w, b, r.N, r.C, epsilon, nullptr); }, row);
  r.measure(
      "02 warp per row", [&](int t) { layer_norm_02(r.out[t], r.x[t], w, b, r.N, r.C, epsilon, nullptr); }, row);
}

/// Operations that change x in place: the copy that they work on is made anew before each check, and what it becomes in
/// the measured calls does not matter.
struct InPlace {
  Bench& bench;
  size_t count;
  double work;
  int turns = bench.turns(8 * count);
  Rotated<float> x{count, turns}, y{count, turns}, fresh{count, 1};

  InPlace(Bench& on, size_t n, double bytes) : bench(on), count(n), work(bytes) { fresh.fill(1, 3), y.fill(2, 3); }

  void measure(const char* name, const std::function<void(int)>& run,
               const std::function<double(const std::vector<float>& x, const std::vector<float>& y, size_t i)>& want) {
    const std::vector<float> before = fresh.download(0);
    bench.measure({name, work, run, [&] { x.upload(before); },
                   [&](int turn) {
                     const std::vector<float> got = x.download(turn), other = y.download(turn);
                     Worst worst;
                     for (size_t i = 0; i < count;
                          i += i + 1 < count ? std::min(1 + count / 10007, count - 1 - i) : 1) {
                       const double right = want(before, other, i);
                       worst.compare(got[i], right, 1e-5 * std::abs(right) + 1e-6);
                     }
                     return worst.fraction;
                   }});
  }
};

void measure_elements(Bench& bench) {
  const int count = bench.size(1 << 25, 1 << 20, 1003);
  if (bench.wants("add")) {
    InPlace r(bench, size_t(count), 12.0 * count);
    bench.ladder("add", fmt::format("{} elements", count), Unit::byte, bench.copy_bandwidth, "copying");
    const auto sum = [](const auto& x, const auto& y, size_t i) { return double(x[i]) + y[i]; };
    r.measure(
        "01 thread per element", [&](int t) { add_01(r.x[t], r.y[t], count, nullptr); }, sum);
    r.measure(
        "02 16 bytes per thread", [&](int t) { add_02(r.x[t], r.y[t], count, nullptr); }, sum);
  }
  if (bench.wants("silu_mul")) {
    InPlace r(bench, size_t(count), 12.0 * count);
    bench.ladder("silu_mul", fmt::format("{} elements", count), Unit::byte, bench.copy_bandwidth, "copying");
    const auto gate = [](const auto& x, const auto& y, size_t i) {
      return x[i] / (1 + std::exp(-double(x[i]))) * y[i];
    };
    r.measure(
        "01 thread per element", [&](int t) { silu_mul_01(r.x[t], r.y[t], count, nullptr); }, gate);
    r.measure(
        "02 16 bytes per thread", [&](int t) { silu_mul_02(r.x[t], r.y[t], count, nullptr); }, gate);
  }
}

void measure_rope(Bench& bench) {
  const int N = bench.size(8192, 256, 3), H = bench.size(32, 8, 2), D = bench.size(128, 64, 6), half = D / 2;
  const size_t count = size_t(N) * H * D;
  InPlace r(bench, count, 8.0 * double(count));
  Rotated<float> cos(size_t(N) * half, 1), sin(size_t(N) * half, 1);
  Rotated<int> position(size_t(N), 1);
  cos.fill(5), sin.fill(6);
  std::vector<int> positions(static_cast<size_t>(N));
  for (int n = 0; n < N; ++n) positions[n] = N - 1 - n;
  position.upload(positions);
  const std::vector<float> c = cos.download(0), s = sin.download(0);
  bench.ladder("rope", fmt::format("{} rows, {} heads of {}", N, H, D), Unit::byte, bench.copy_bandwidth, "copying");
  r.measure(
      "01 naive",
      [&](int t) {
        rope_01(r.x[t], {cos[0], sin[0]}, position[0], N, H, D, nullptr);
      },
      [&](const auto& x, const auto&, size_t i) {
        const size_t d = i % size_t(D), pair = d % size_t(half), row = i / (size_t(H) * D);
        const size_t at = size_t(positions[row]) * half + pair;
        const double low = x[i - d + pair], high = x[i - d + pair + half];
        return d < size_t(half) ? low * c[at] - high * s[at] : high * c[at] + low * s[at];
      });
}

void measure_embedding(Bench& bench) {
  const int N = bench.size(16384, 1024, 5), C = bench.size(4096, 512, 67), V = bench.size(128256, 4096, 11);
  const int turns = bench.turns(6 * size_t(N) * C);
  Rotated<float> out(size_t(N) * C, turns);
  Rotated<bf16> table(size_t(V) * C, 1);
  Rotated<int> index(size_t(N), 1);
  table.fill(1);
  std::vector<int> indices(static_cast<size_t>(N));
  for (int n = 0; n < N; ++n) indices[n] = int(uint64_t(n) * 2654435761u % unsigned(V));
  index.upload(indices);
  const std::vector<bf16> from = table.download(0);
  bench.ladder("embedding", fmt::format("{} of {} rows of {}, bf16", N, V, C), Unit::byte, bench.copy_bandwidth,
               "copying");
  const auto fault = [&](int turn) {
    const std::vector<float> got = out.download(turn);
    for (size_t i = 0; i < got.size(); ++i)
      if (got[i] != to_float(from[size_t(indices[i / C]) * C + i % C])) return INFINITY;
    return 0.0f;
  };
  const auto poison = [&] { out.poison(); };
  bench.measure({"01 thread per element", 6.0 * N * C,
                 [&](int t) { embedding_01(out[t], table[0], index[0], N, C, nullptr); }, poison, fault});
  bench.measure({"02 16 bytes per thread", 6.0 * N * C,
                 [&](int t) { embedding_02(out[t], table[0], index[0], N, C, nullptr); }, poison, fault});
}

}  // namespace

void measure_rows(Bench& bench) {
  if (bench.wants("softmax")) measure_softmax(bench);
  if (bench.wants("rms_norm")) measure_rms_norm(bench);
  if (bench.wants("layer_norm")) measure_layer_norm(bench);
  measure_elements(bench);
  if (bench.wants("rope")) measure_rope(bench);
  if (bench.wants("embedding")) measure_embedding(bench);
}

}  // namespace rungs::bench
