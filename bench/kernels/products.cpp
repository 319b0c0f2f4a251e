// Matrix products beside cuBLAS, and products of few rows beside the bandwidth of reading.
#include <fmt/format.h>

#include <random>

#include "bench.hpp"
#include "cublas.hpp"
#include "kernels/gemv/gemv.hpp"
#include "kernels/matmul/dot.hpp"
#include "kernels/matmul/matmul.hpp"

namespace rungs::bench {

namespace {

struct Sizes {
  int M, N, K;
  double flop() const { return 2.0 * M * N * K; }
  std::string text() const { return fmt::format("{} x {} x {}", M, N, K); }
};

double value(float x) { return x; }
double value(bf16 x) { return to_float(x); }

/// What computes a product, which decides how far it may be off.
enum class On { f32, tensor_cores };

/// Some elements of c = a · b, the corners among them, and whether every element is finite.
/// b_at(k, n): the element's place in b.
template <class A, class B, class Place>
double product_fault(const std::vector<float>& c, const std::vector<A>& a, const std::vector<B>& b, Sizes s, Place b_at,
                     On on = On::f32) {
  Worst worst;
  for (const float x : c)
    if (!std::isfinite(x)) return INFINITY;
  std::mt19937 random(1);
  for (int i = 0; i < 256; ++i) {
    const int m = i < 4 ? (i & 1) * (s.M - 1) : int(random() % unsigned(s.M));
    const int n = i < 4 ? (i >> 1) * (s.N - 1) : int(random() % unsigned(s.N));
    Dot dot;
    for (int k = 0; k < s.K; ++k) dot.add(value(a[size_t(m) * s.K + k]) * value(b[b_at(k, n)]));
    const double cut = on == On::tensor_cores ? tolerance_of_tensor_cores(s.K, dot.largest) : 0;
    worst.compare(c[size_t(m) * s.N + n], dot.sum, dot.tolerance() + cut);
  }
  return worst.fraction;
}

void in_f32(Bench& bench, Sizes s) {
  const int turns = bench.turns(sizeof(float) * (size_t(s.M) * s.K + size_t(s.K) * s.N + size_t(s.M) * s.N));
  Rotated<float> a(size_t(s.M) * s.K, turns), b(size_t(s.K) * s.N, turns), c(size_t(s.M) * s.N, turns);
  a.fill(1), b.fill(2);
  const auto poison = [&] { c.poison(); };
  const auto fault = [&](int turn) {
    return product_fault(c.download(turn), a.download(turn), b.download(turn), s,
                         [&](int k, int n) { return size_t(k) * s.N + n; });
  };
  bench.ladder("matmul f32", s.text(), Unit::flop, 0, "cuBLAS, sgemm without TF32");
  if (cublas_f32(c[0], a[0], b[0], s.M, s.N, s.K))
    bench.measure_yardstick(
        {"cuBLAS", s.flop(), [&](int t) { cublas_f32(c[t], a[t], b[t], s.M, s.N, s.K); }, poison, fault});
  using Product = void (*)(float*, const float*, const float*, int, int, int, cudaStream_t);
  const struct {
    const char* name;
    Product product;
    const char* wanted;
  } rungs[] = {{"01 naive", matmul_01, ""},
               {"02 coalesced", matmul_02, ""},
               {"03 shared tile", matmul_03, ""},
               {"04 register tile", matmul_04, ""},
               {"05 vectorized", matmul_05, "70% (92%)"}};
  for (const auto& [name, product, wanted] : rungs)
    bench.measure({name, s.flop(), [&, p = product](int t) { p(c[t], a[t], b[t], s.M, s.N, s.K, nullptr); }, poison,
                   fault, wanted});
}

/// How the products of the model's prefill are measured with activations in two parts of bf16.
void in_bf16(Bench& bench, Sizes s) {
  const int turns = bench.turns(2 * (2 * size_t(s.M) * s.K + size_t(s.K) * s.N + 2 * size_t(s.M) * s.N));
  Rotated<bf16> a(2 * size_t(s.M) * s.K, turns), b(size_t(s.K) * s.N, turns);  // (M, 2K) or (M, K), (N, K)
  Rotated<float> c(size_t(s.M) * s.N, turns);
  a.fill(1), b.fill(2);
  const auto poison = [&] { c.poison(); };
  const auto transposed = [&](int k, int n) { return size_t(n) * s.K + k; };
  const auto fault = [&](int turn) {
    return product_fault(c.download(turn), a.download(turn), b.download(turn), s, transposed, On::tensor_cores);
  };
  // With two parts a row of a is 2K long, and b is read again for the second half.
  const Sizes doubled{s.M, s.N, 2 * s.K};
  const auto fault_of_two = [&](int turn) {
    return product_fault(
        c.download(turn), a.download(turn), b.download(turn), doubled,
        [&](int k, int n) { return size_t(n) * s.K + k % s.K; }, On::tensor_cores);
  };
  bench.ladder("matmul bf16", s.text(), Unit::flop, 0, "cuBLAS, bf16 with sums in f32");
  if (cublas_bf16(c[0], a[0], b[0], s.M, s.N, s.K))
    bench.measure_yardstick(
        {"cuBLAS", s.flop(), [&](int t) { cublas_bf16(c[t], a[t], b[t], s.M, s.N, s.K); }, poison, fault});
  bench.measure(
      {"06 wmma", s.flop(), [&](int t) { matmul_06(c[t], a[t], b[t], s.M, s.N, s.K, nullptr); }, poison, fault});
  bench.measure({"07 mma.sync", s.flop(), [&](int t) { matmul_07(c[t], a[t], b[t], s.M, s.N, s.K, 1, nullptr); },
                 poison, fault, "60%"});
  bench.measure({"07 mma.sync, two parts", 2 * s.flop(),
                 [&](int t) { matmul_07(c[t], a[t], b[t], s.M, s.N, s.K, 2, nullptr); }, poison, fault_of_two});
  if (!wgmma_runs_here()) return;
  bench.measure({"08 wgmma", s.flop(), [&](int t) { wgmma_matmul(c[t], a[t], b[t], s.M, s.N, s.K, 1, nullptr); },
                 poison, fault, "85%"});
  bench.measure({"08 wgmma, two parts", 2 * s.flop(),
                 [&](int t) { wgmma_matmul(c[t], a[t], b[t], s.M, s.N, s.K, 2, nullptr); }, poison, fault_of_two});
}

template <class W>
struct FewRows {
  Bench& bench;
  int N, K, C;
  int turns = bench.turns(sizeof(W) * size_t(K) * C);
  Rotated<float> y{size_t(N) * K, turns}, x{size_t(N) * C, turns};
  Rotated<W> weight{size_t(K) * C, turns};

  FewRows(Bench& on, int n, int k, int c) : bench(on), N(n), K(k), C(c) { x.fill(3), weight.fill(4); }
  double work() const { return double(sizeof(W)) * K * C + 4.0 * N * (K + C); }
  using Product = void (*)(float*, const float*, const W*, int, int, int, cudaStream_t);
  void measure(const char* name, Product product) {
    bench.measure({name, work(), [&, product](int t) { product(y[t], x[t], weight[t], N, K, C, nullptr); },
                   [&] { y.poison(); },
                   [&](int t) {
                     return product_fault(y.download(t), x.download(t), weight.download(t), {N, K, C},
                                          [&](int c, int k) { return size_t(k) * C + c; });
                   }});
  }
};

void of_bytes(Bench& bench, int K, int C) {
  const int turns = bench.turns(size_t(K) * C);
  Rotated<float> y(size_t(K), turns), x(size_t(C), turns), scale(size_t(K), turns);
  Rotated<int8_t> weight(size_t(K) * C, turns);
  x.fill(3), scale.fill(5, 0.01f, 0.02f), weight.fill(4, 127);
  bench.measure({"int8", double(K) * C + 4.0 * (2 * K + C),
                 [&](int t) { gemv_int8(y[t], x[t], weight[t], scale[t], 1, K, C, nullptr); }, [&] { y.poison(); },
                 [&](int t) {
                   const auto got = y.download(t), from = x.download(t), by = scale.download(t);
                   const auto w = weight.download(t);
                   Worst worst;
                   for (int k = 0; k < K; k += 1 + K / 500) {
                     Dot dot;
                     for (int c = 0; c < C; ++c) dot.add(double(by[k]) * w[size_t(k) * C + c] * from[c]);
                     worst.compare(got[k], dot.sum, dot.tolerance());
                   }
                   return worst.fraction;
                 }});
}

}  // namespace

void measure_products(Bench& bench) {
  const int n = bench.size(4096, 512, 65);
  if (bench.wants("matmul f32")) in_f32(bench, {n, n, n});
  if (bench.wants("matmul f32") && on_gpu) in_f32(bench, {2048, 14336, 4096});
  if (bench.wants("matmul bf16")) in_bf16(bench, {n, n, bench.size(4096, 512, 72)});
  if (bench.wants("matmul bf16") && on_gpu) in_bf16(bench, {2048, 14336, 4096});
}

void measure_few_rows(Bench& bench) {
  if (!bench.wants("gemv")) return;
  const int K = bench.size(14336, 2048, 33), C = bench.size(4096, 2048, 65);
  bench.ladder("gemv", fmt::format("weight {} x {}", K, C), Unit::byte, bench.read_bandwidth, "reading");
  FewRows<bf16> one(bench, 1, K, C);
  one.measure("01 thread per row, bf16", gemv_01);
  one.measure("02 warp per row, bf16", gemv_02);
  one.measure("03 16-byte loads, bf16", gemv_03);
  one.measure("04 several rows per warp, bf16", gemv_04);
  FewRows<bf16>(bench, 8, K, C).measure("04 with 8 rows, bf16", gemv_04);
  FewRows<float>(bench, 1, K, C).measure("04 several rows per warp, f32", gemv_04);
  of_bytes(bench, K, C);
}

}  // namespace rungs::bench
