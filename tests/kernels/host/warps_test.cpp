#include <algorithm>
#include <cmath>
#include <numeric>

#include "device_array.hpp"
#include "host_kernels.hpp"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

/// The lane that CUDA's manual gives, lane by lane.
static int source(int lane, int kind, int parameter, int width) {
  const int group = lane / width * width, inside = lane % width;
  if (kind == 0) return group + ((parameter % width) + width) % width;
  if (kind == 1) return inside < parameter ? lane : lane - parameter;
  if (kind == 2) return inside + parameter >= width ? lane : lane + parameter;
  return (lane ^ parameter) >= group + width ? lane : lane ^ parameter;
}

TEST_CASE("each shuffle reads the lane that the manual says") {
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i) x[size_t(i)] = 100 + 7 * i;
  DeviceArray<int> device_x(x), out(64);
  bool right = true;
  for (int kind = 0; kind < 4; ++kind)
    for (int width : {1, 2, 4, 8, 16, 32})
      for (int parameter : {0, 1, 2, 3, 7, 16, 31}) {
        launch(shuffle, {1, 64}, out, device_x, kind, parameter, width);
        const auto got = out.get();
        for (int i = 0; i < 64; ++i)
          right &= got[size_t(i)] == x[size_t(i / 32 * 32 + source(i % 32, kind, parameter, width))];
      }
  CHECK(right);
}

template <class T>
static void check_shuffle_down() {
  DeviceArray<T> x(counting<T>(32)), out(32);
  launch(shuffle_down<T>, {1, 32}, out, x);
  const auto got = out.get();
  for (size_t i = 0; i < 32; ++i) CHECK(float(got[i]) == float(std::min<size_t>(i + 1, 31)));
}

TEST_CASE("values of 2 and 8 bytes are shuffled too") {
  check_shuffle_down<double>();
  check_shuffle_down<long long>();
  check_shuffle_down<__half>();
}

TEST_CASE("votes see the lanes of the mask alone") {
  for (unsigned mask : {0xffffffffu, 0x0000ffffu, 0x80000001u, 0x12345678u})
    for (unsigned yes : {0u, 0xffffffffu, 0x00010001u, 0x0000ffffu}) {
      DeviceArray<unsigned> out(96);
      launch(vote, {1, 32}, out, yes, mask);
      const auto got = out.get();
      for (size_t i = 0; i < 32; ++i) {
        if (!(mask >> i & 1)) continue;
        CHECK(got[3 * i] == (yes & mask));
        CHECK((got[3 * i + 1] != 0) == ((yes & mask) != 0));
        CHECK((got[3 * i + 2] != 0) == ((yes & mask) == mask));
      }
    }
}

TEST_CASE("a match finds the lanes of equal value") {
  std::vector<int> x(32);
  for (size_t i = 0; i < 32; ++i) x[i] = int(i * i % 5);
  DeviceArray<int> device_x(x);
  DeviceArray<unsigned> out(32);
  launch(match, {1, 32}, out, device_x);
  const auto got = out.get();
  for (size_t i = 0; i < 32; ++i) {
    unsigned want = 0;
    for (size_t j = 0; j < 32; ++j) want |= unsigned(x[i] == x[j]) << j;
    CHECK(got[i] == want);
  }
}

TEST_CASE("a warp reduces integers") {
  std::vector<int> x(32);
  for (size_t i = 0; i < 32; ++i) x[i] = int(i * 2654435761u);
  DeviceArray<int> device_x(x), out(32 * 9);
  launch(reduce, {1, 32}, out, device_x);
  unsigned sum = 0, all_and = ~0u, all_or = 0, all_xor = 0, least = ~0u, most = 0;
  for (int v : x) {
    const auto u = unsigned(v);
    sum += u, all_and &= u, all_or |= u, all_xor ^= u, least = std::min(least, u), most = std::max(most, u);
  }
  const std::vector<int> want = {int(sum),
                                 *std::min_element(x.begin(), x.end()),
                                 *std::max_element(x.begin(), x.end()),
                                 int(least),
                                 int(most),
                                 int(all_and),
                                 int(all_or),
                                 int(all_xor),
                                 int(sum)};
  const auto got = out.get();
  for (size_t i = 0; i < 32; ++i) CHECK(std::equal(want.begin(), want.end(), got.begin() + long(9 * i)));
}

TEST_CASE("two halves of a warp shuffle apart and a lane that takes no part gives poison") {
  DeviceArray<int> out(32);
  launch(shuffle_in_half, {1, 32}, out);
  const auto got = out.get();
  for (int i = 0; i < 16; ++i) CHECK(got[size_t(i)] == -1);
  for (int i = 16; i < 32; ++i) CHECK(got[size_t(i)] == (i ^ 1));
}

TEST_CASE("the last warp of a block may have fewer lanes") {
  DeviceArray<int> x(counting<int>(33)), out(33);
  launch(shuffle, {1, 33}, out, x, 3, 0, 32);
  CHECK(out.get() == counting<int>(33));
}

TEST_CASE("a mask that does not name its caller is refused") {
  CHECK_THROWS_WITH_AS(launch(shuffle_without_self, {1, 32}), Contains("__shfl_sync in warps.cu:"), CudaError);
  CHECK_THROWS_WITH_AS(launch(shuffle_without_self, {1, 32}),
                       Contains("mask 0x0000ffff does not name the calling lane"), CudaError);
  CHECK_NOTHROW(launch(shuffle_without_self, {1, 16}));
}

TEST_CASE("lanes at two operations or with two masks are told from each other") {
  const Setting setting("RUNGS_THREAD_ORDER", "forward");
  CHECK_THROWS_WITH_AS(launch(shuffle_two_kinds, {1, 32}), Contains("lane 1 is at __shfl_xor_sync in warps.cu:"),
                       CudaError);
  CHECK_THROWS_WITH_AS(launch(shuffle_two_kinds, {1, 32}), Contains("lane 0 at __shfl_down_sync in warps.cu:"),
                       CudaError);
  CHECK_THROWS_WITH_AS(launch(shuffle_two_types, {1, 32}), Contains("lane 1 is at __shfl_xor_sync in"), CudaError);
  CHECK_THROWS_WITH_AS(launch(shuffle_two_masks, {1, 32}), Contains("with mask 0x7fffffff: lanes named in a mask"),
                       CudaError);
}

TEST_CASE("a lane that has returned is missed") {
  const std::string error = error_of([] { launch(shuffle_after_return, {1, 64}); });
  CHECK(error.find("31 threads, first (32,0,0), at __shfl_xor_sync in warps.cu:") != std::string::npos);
  CHECK(error.find("with mask 0xffffffff, which names lanes 0x00000020 that are not there; ") != std::string::npos);
  CHECK(error.find("returned from the kernel") != std::string::npos);
}

TEST_CASE("atomic operations of many blocks lose nothing") {
  constexpr int blocks = 40, threads = 96, n = blocks * threads;
  DeviceArray<int> ints(std::vector<int>{0, 0, -1, 1, 0});
  DeviceArray<float> floats(std::vector<float>{0});
  DeviceArray<double> doubles(std::vector<double>{0});
  DeviceArray<unsigned> unsigneds(std::vector<unsigned>{0, ~0u, 0, 0, 0});
  launch(count_atomically, {blocks, threads}, ints, floats, unsigneds, doubles);
  CHECK(ints.get() == std::vector<int>{n * (n - 1) / 2, -n, n - 1, 1 - n, 5});
  CHECK(floats.get()[0] == n / 2);
  CHECK(doubles.get()[0] == n / 4);
  CHECK(unsigneds.get() == std::vector<unsigned>{~0u, 0xffff0000u, 0, n % 10, (10 - n % 10) % 10});

  DeviceArray<int> owner(std::vector<int>{-1}), winners(std::vector<int>{0});
  launch(claim_once, {50, 64}, owner, winners);
  CHECK(winners.get()[0] == 1);
  CHECK(owner.get()[0] >= 0);
}

TEST_SUITE_END();

}  // namespace rungs::test
