/// What ends a launch and would else end the program, or never end.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_array.hpp"
#include "host_kernels.hpp"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels_host");

#if !defined(__SANITIZE_ADDRESS__) && !defined(RUNGS_CHECKED)  // which explain a bad address themselves
TEST_CASE("a bad address ends the launch and not the program") {
  CHECK_THROWS_WITH_AS(launch(write_at, {1, 64}, nullptr),
                       Contains("kernel test::write_at, block (0,0,0) of (1,1,1), thread ("), CudaError);
  CHECK_THROWS_WITH_AS(launch(write_at, {1, 64}, nullptr), Contains("which is a null pointer or near it"), CudaError);
  CHECK_THROWS_WITH_AS(launch(write_at, {1, 64}, reinterpret_cast<float*>(0x10000000000)),
                       Contains("an access to 0x10000000"), CudaError);
}

TEST_CASE("a thread that needs more stack than there is ends the launch") {
  DeviceArray<float> x(counting<float>(64));
  CHECK_THROWS_WITH_AS(launch(use_stack, {1, 8}, x, 40000), Contains("the thread's stack is used up"), CudaError);
}

#ifdef __x86_64__  // aarch64 loads what is not aligned, and divides by zero without a fault
TEST_CASE("a float4 that is not aligned to 16 bytes ends the launch") {
  if (!copies_float4_at_once()) return;
  DeviceArray<float> x(counting<float>(64)), out(64);
  CHECK_THROWS_WITH_AS(launch(copy_float4, {1, 8}, out, x + 1), Contains("misaligned"), CudaError);
  CHECK_THROWS_WITH_AS(launch(copy_float4, {1, 8}, out + 2, x), Contains("misaligned"), CudaError);
  CHECK_NOTHROW(launch(copy_float4, {1, 8}, out, x + 4));
}

TEST_CASE("a division by zero ends the launch") {
  DeviceArray<int> x(8);
  CHECK_THROWS_WITH_AS(launch(divide, {1, 8}, x, 0), Contains("an integer is divided by zero"), CudaError);
  CHECK_NOTHROW(launch(divide, {1, 8}, x, 2));
}
#endif
#endif

TEST_CASE("a misaligned load through a function is explained") {
  DeviceArray<float> x(counting<float>(64)), out(8);
  CHECK_THROWS_WITH_AS(launch(load_float4, {1, 8}, out, x + 1), Contains("__ldg: address "), CudaError);
  CHECK_NOTHROW(launch(load_float4, {1, 8}, out, x + 4));
}

TEST_CASE("a kernel that launches a kernel is refused") {
  DeviceArray<float> x(counting<float>(64));
  CHECK_THROWS_WITH_AS(launch(launch_inside, {1, 8}, x), Contains("a kernel cannot launch a kernel"), CudaError);
}

TEST_CASE("a kernel that never ends is ended and later ones run") {
  const Setting limit("RUNGS_KERNEL_SECONDS", "0.1");
  DeviceArray<float> x(std::vector<float>(1024));
  for (const Loop kind : {Loop::plain, Loop::barrier, Loop::shuffle, Loop::one_thread}) {
    const std::string error = error_of([&] { launch(loop_for_ever, {1, 64}, x, kind); });
    CHECK_MESSAGE(error.find("kernel test::loop_for_ever, block (0,0,0) of (1,1,1), thread (") == 0, error);
    CHECK_MESSAGE(error.find("the block has run for 0.1 s, the limit") != std::string::npos, error);
  }
  const std::string error = error_of([&] { launch(loop_for_ever, {1, 64}, x, Loop::one_thread); });
  CHECK_MESSAGE(error.find("thread (5,0,0)") != std::string::npos, error);
  CHECK_NOTHROW(launch(add_scalar, {4, 64}, x, 1.0f));
}

TEST_CASE("a limit that is no number is explained") {
  for (const char* text : {"fast", "0", "-1", "3x", "nan"}) {
    const Setting limit("RUNGS_KERNEL_SECONDS", text);
    DeviceArray<float> x(512);
    CHECK_THROWS_WITH_AS(launch(add_scalar, {64, 8}, x, 1.0f), Contains("it can be a number of seconds above 0"),
                         CudaError);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(RUNGS_CHECKED)
TEST_CASE("a kernel that cannot be left safely ends the program with a sentence") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    setenv("RUNGS_KERNEL_SECONDS", "0.05", 1);
    float* x = nullptr;
    cudaMalloc(&x, size_t(64) << 20);
    try {
      launch(loop_for_ever, {1, 1}, x, Loop::library);
    } catch (const CudaError&) {
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  if (WEXITSTATUS(status) != 0)
    CHECK_MESSAGE(
        text.find("kernel test::loop_for_ever has run for longer than RUNGS_KERNEL_SECONDS") != std::string::npos,
        text);
}
#endif

TEST_SUITE_END();

}  // namespace rungs::test
