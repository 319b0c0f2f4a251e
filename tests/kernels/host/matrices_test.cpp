#include <cmath>
#include <random>

#include "device_array.hpp"
#include "host_kernels.hpp"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

template <class T>
static std::vector<T> random_values(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(n);
  for (T& x : values) x = T(float(int(random() % 17)) - 8.0f);  // products and sums of these are exact
  return values;
}

TEST_CASE("ldmatrix gives each lane two neighbours of a row or of a column") {
  std::vector<uint16_t> matrices(256);
  for (size_t i = 0; i < 256; ++i) matrices[i] = uint16_t(1000 + i);
  DeviceArray<uint16_t> x(matrices);
  for (bool transposed : {false, true}) {
    DeviceArray<uint32_t> out(32 * 4);
    launch(load_four, {1, 32}, out, x, transposed);
    const auto got = out.get();
    for (int lane = 0; lane < 32; ++lane)
      for (int m = 0; m < 4; ++m) {
        const int row = lane / 4, column = lane % 4 * 2;
        const int low = m * 64 + (transposed ? column * 8 + row : row * 8 + column), high = low + (transposed ? 8 : 1);
        CHECK(got[size_t(lane * 4 + m)] == (unsigned(1000 + low) | unsigned(1000 + high) << 16));
      }
  }
}

/// c (16, n) += a (16, 16) · b (16, n)
template <class T>
static void multiply(std::vector<float>& c, const std::vector<T>& a, const std::vector<T>& b, size_t n) {
  for (size_t i = 0; i < 16; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t k = 0; k < 16; ++k) c[i * n + j] += float(a[i * 16 + k]) * float(b[k * n + j]);
}

TEST_CASE("mma.m16n8k16 with fragments as documented is a plain product") {
  using T = __nv_bfloat16;
  const auto a = random_values<T>(256, 1), b = random_values<T>(128, 2);
  auto want = random_values<float>(128, 3);
  DeviceArray<float> c(want);
  launch(multiply_16_8_16, {1, 32}, c, DeviceArray<T>(a), DeviceArray<T>(b));
  multiply(want, a, b, 8);
  CHECK(c.get() == want);
}

template <class T, bool columns>
static void check_wmma() {
  const auto a = random_values<T>(256, 4), b = random_values<T>(256, 5);
  auto want = random_values<float>(256, 6);
  std::vector<T> b_stored(256);
  for (size_t k = 0; k < 16; ++k)
    for (size_t n = 0; n < 16; ++n) b_stored[columns ? n * 16 + k : k * 16 + n] = b[k * 16 + n];
  DeviceArray<float> c(want), d(256);
  launch(multiply_wmma<T, columns>, {1, 32}, d, DeviceArray<T>(a), DeviceArray<T>(b_stored), c);
  multiply(want, a, b, 16);
  const auto got = d.get();
  for (size_t i = 0; i < 256; ++i) CHECK(got[i] == want[columns ? i % 16 * 16 + i / 16 : i]);
}

TEST_CASE("wmma multiplies tiles stored by rows or by columns") {
  check_wmma<__half, false>();
  check_wmma<__nv_bfloat16, true>();
}

TEST_CASE("an asynchronous copy fills with zeros what is not valid") {
  DeviceArray<float> x(counting<float>(128)), out(128);
  for (int valid : {16, 8, 4, 0}) {
    launch(copy_async, {1, 32}, out, x, valid, true);
    const auto got = out.get();
    for (int i = 0; i < 128; ++i) {
      const int from = (i + 64) % 128;
      CHECK(got[size_t(i)] == (from % 4 < valid / 4 ? float(from) : 0.0f));
    }
  }
}

TEST_CASE("only closed groups are waited for and the youngest may stay") {
  DeviceArray<float> x(std::vector<float>{5, 6, 7}), out(4);
  launch(copy_two_groups, {1, 1}, out, x);
  const auto got = out.get();
  CHECK(std::vector(got.begin(), got.begin() + 3) == std::vector<float>{5, 6, 7});
  CHECK(std::isnan(got[3]));  // read while its group could stay
}

#ifndef RUNGS_CHECKED  // which says it before the NaN can
TEST_CASE("a copy that nobody has waited for shows nothing but NaN") {
  DeviceArray<float> x(counting<float>(128)), out(128);
  launch(copy_async, {1, 32}, out, x, 16, false);
  for (float v : out.get()) CHECK(std::isnan(v));
}
#endif

TEST_CASE("copies and matrix operations that cannot be are explained") {
  DeviceArray<float> x(counting<float>(32));
  CHECK_THROWS_WITH_AS(launch(copy_unawaited, {1, 32}, x),
                       Contains("thread (3,0,0) of (32,1,1): an asynchronous copy was begun and never waited for"),
                       CudaError);
  CHECK_THROWS_WITH_AS(launch(copy_misaligned, {1, 1}, x),
                       Contains("the destination of an asynchronous copy: address "), CudaError);
  CHECK_THROWS_WITH_AS(launch(matrices_in_half_a_warp, {1, 16}, x),
                       Contains("a matrix operation in a warp of fewer than 32 threads"), CudaError);
}

TEST_SUITE_END();

}  // namespace rungs::test
