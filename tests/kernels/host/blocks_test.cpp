#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device_array.hpp"
#include "host_kernels.hpp"
#include "kernels/emulator/engine/device.hpp"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

static bool equal(const uint3& a, const uint3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

TEST_CASE("every thread of every block knows its place in three dimensions") {
  const dim3 grid(3, 2, 2), block(5, 4, 3);
  DeviceArray<Place> out(12 * 60);
  launch(write_places, {grid, block}, out);
  const std::vector<Place> places = out.get();
  bool right = true;
  for (unsigned i = 0; i < 12 * 60; ++i) {
    const unsigned b = i / 60, t = i % 60;
    right &= equal(places[i].thread, {t % 5, t / 5 % 4, t / 20}) && equal(places[i].block, {b % 3, b / 3 % 2, b / 6});
    right &= places[i].block_size.y == 4 && places[i].grid_size.x == 3;
  }
  CHECK(right);
}

TEST_CASE("shared memory and barriers pass values between threads in any order") {
  for (const char* order : {"forward", "reverse", "random:3"}) {
    const Setting setting("RUNGS_THREAD_ORDER", order);
    DeviceArray<float> x(counting<float>(10 * 200)), out(10 * 200);
    launch(reverse_block, {10, 200}, out, x);
    const auto got = out.get();
    bool right = true;
    for (size_t i = 0; i < got.size(); ++i) right &= got[i] == float(i / 200 * 200 + 199 - i % 200);
    CHECK_MESSAGE(right, order);
  }
}

TEST_CASE("dynamic shared memory is as large as the launch says and of any type") {
  DeviceArray<float> x(counting<float>(1024)), out(1);
  launch(sum_dynamic<float>, {1, 1024, 1024 * sizeof(float)}, out, x);
  CHECK(out.get()[0] == 1023 * 512);
  DeviceArray<double> y(counting<double>(64));
  launch(sum_dynamic<double>, {1, 64, 64 * sizeof(double)}, out, y);
  CHECK(out.get()[0] == 63 * 32);
  launch(sum_dynamic<float>, {1, 256, emulator::device().shared_per_block}, out, x);  // more than 48 KB is asked for
  CHECK(out.get()[0] == 255 * 128);
}

TEST_CASE("a barrier counts votes") {
  for (int below : {0, 1, 33, 50}) {
    DeviceArray<int> out(150);
    launch(count_votes, {1, 50}, out, below);
    const auto got = out.get();
    for (size_t i = 0; i < 150; i += 3) {
      CHECK(got[i] == below);
      CHECK((got[i + 1] != 0) == (below > 0));
      CHECK((got[i + 2] != 0) == (below == 50));
    }
  }
}

static std::vector<int> order_of_threads(const char* order, int threads) {
  const Setting setting("RUNGS_THREAD_ORDER", order);
  DeviceArray<int> out(size_t(2 * threads)), next(std::vector<int>{0});
  launch(note_order, {1, unsigned(threads)}, out, next);
  return out.get();
}

TEST_CASE("threads run forward or in reverse or as a seed says") {
  const std::vector<int> forward = order_of_threads("forward", 64);
  const std::vector<int> reverse = order_of_threads("reverse", 64);
  for (int i = 0; i < 64; ++i) {
    CHECK(forward[size_t(i)] == i);
    CHECK(reverse[size_t(i)] == 63 - i);
  }
  const std::vector<int> random = order_of_threads("random:7", 64);
  CHECK(random == order_of_threads("random:7", 64));
  CHECK(random != order_of_threads("random:8", 64));
  for (int part : {0, 64}) {  // before the barrier and after it: each thread once, and not the same way
    std::vector<int> sorted(random.begin() + part, random.begin() + part + 64);
    CHECK(!std::is_sorted(sorted.begin(), sorted.end()));
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == counting<int>(64));
  }
  // Who goes on first after the barrier is drawn anew: else it were the last to come, then the others as they came.
  std::vector<int> as_they_came(random.begin(), random.begin() + 64);
  std::rotate(as_they_came.begin(), as_they_came.end() - 1, as_they_came.end());
  CHECK(!std::equal(as_they_came.begin(), as_they_came.end(), random.begin() + 64));
}

TEST_CASE("blocks run in another order too and each of them once") {
  for (const char* order : {"reverse", "random:1", "random:12345"})
    for (int blocks : {1, 2, 7, 12}) {
      const Setting setting("RUNGS_THREAD_ORDER", order);
      DeviceArray<int> out{size_t(blocks)}, next(std::vector<int>{0});
      launch(note_blocks, {unsigned(blocks), 1}, out, next);
      std::vector<int> got = out.get();
      if (blocks > 2) CHECK(!std::is_sorted(got.begin(), got.end()));
      std::sort(got.begin(), got.end());
      CHECK(got == counting<int>(size_t(blocks)));
    }
}

TEST_CASE("an order that does not exist is explained") {
  for (const char* order : {"backward", "random", "random:", "random:x", "random:3x"}) {
    const Setting setting("RUNGS_THREAD_ORDER", order);
    CHECK_THROWS_WITH_AS(launch(trap_in, {1, 1}, -1), Contains("it can be forward, reverse or random:SEED"), CudaError);
  }
}

#ifndef RUNGS_CHECKED  // which says it before the NaN can
TEST_CASE("shared memory that nobody wrote is NaN in every block") {
  DeviceArray<float> a(8 * 32), b(8 * 32);
  launch(fresh_shared, {8, 32, 32 * sizeof(float)}, a, b);
  for (float x : a.get()) CHECK(std::isnan(x));
  for (float x : b.get()) CHECK(std::isnan(x));
}
#endif

TEST_CASE("a thread that leaves before a barrier is named with the others that wait") {
  const std::string error = error_of([] { launch(leave_before_barrier, {3, 64}, 60); });
  CHECK(error.find("kernel test::leave_before_barrier, block (") == 0);
  CHECK(error.find("60 threads, first (0,0,0), at __syncthreads() in blocks.cu:") != std::string::npos);
  CHECK(error.find("4 threads, first (60,0,0), returned from the kernel") != std::string::npos);
}

TEST_CASE("threads at two barriers are told from each other") {
  const Setting setting("RUNGS_THREAD_ORDER", "forward");
  CHECK_THROWS_WITH_AS(launch(two_barriers, {1, 32}, 7),
                       Contains("thread (7,0,0) of (32,1,1): the thread is at __syncthreads() in blocks.cu:"),
                       CudaError);
  CHECK_THROWS_WITH_AS(launch(two_barriers, {1, 32}, 7),
                       Contains("7 threads, first (0,0,0), at __syncthreads() in blocks.cu:"), CudaError);
  CHECK_NOTHROW(launch(two_barriers, {1, 32}, 32));
}

TEST_CASE("a warp that waits for one of its lanes at a barrier is explained") {
  const std::string error = error_of([] { launch(barrier_and_shuffle, {1, 64}); });
  CHECK(error.find("33 threads") != std::string::npos);
  CHECK(error.find("31 threads, first (32,0,0), at __shfl_sync in blocks.cu:") != std::string::npos);
  CHECK(error.find("names lanes 0x00000100 that are not there") != std::string::npos);
}

TEST_CASE("a trap and an exception end the launch in the thread that made them") {
  CHECK_THROWS_WITH_AS(launch(trap_in, {1, 64}, 5), Contains("thread (5,0,0) of (64,1,1): __trap()"), CudaError);
  CHECK_THROWS_WITH_AS(launch(throw_in, {1, 64}, 6),
                       Contains("thread (6,0,0) of (64,1,1): the kernel threw a C++ exception: a message"), CudaError);
  CHECK_NOTHROW(launch(trap_in, {4, 64}, -1));  // the engine works on
}

TEST_CASE("a parameter is copied for each thread") {
  DeviceArray<float> out(40);
  Large large;
  for (float& x : large.at) x = 1;
  launch(sum_argument, {1, 40}, out, large);
  for (float x : out.get()) CHECK(x == 100);
}

TEST_CASE("a launch that breaks a limit names kernel and shape and limit") {
  const auto refused = [](const LaunchShape& shape, const std::string& text) {
    const std::string error = error_of([&] { launch(trap_in, shape, -1); });
    CHECK_MESSAGE(error.find("launch of test::trap_in with grid (") == 0, error);
    CHECK_MESSAGE(error.find(text) != std::string::npos, error);
  };
  refused({1, 1025}, "block (1025,1,1), 0 bytes of dynamic shared memory: a block of 1025 threads, the limit is 1024");
  refused({0, 32}, "the grid is empty");
  refused({1, 0}, "the block is empty");
  refused({1, dim3(1, 1, 65)}, "blockDim.z is 65, the limit is 64");
  refused({dim3(1, 65536), 1}, "gridDim.y is 65536");
  refused({dim3(1, 1, 65536), 1}, "gridDim.z is 65536, the limit of each is 65535");
  const size_t most = emulator::device().shared_per_block;
  refused({1, 32, most + 1},
          fmt::format("{0} bytes of dynamic shared memory: {0} bytes of shared memory, 0 of them static, the limit of "
                      "the {1} is {2}",
                      most + 1, emulator::device().name, most));
  CHECK_THROWS_WITH_AS(launch(sum_dynamic<float>, {1, 32}, nullptr, nullptr),
                       Contains("the launch gave no dynamic shared memory"), CudaError);
}

TEST_SUITE_END();

}  // namespace rungs::test
