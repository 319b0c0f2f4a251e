#include "rungs/grader/faults.hpp"

#include "contains.hpp"
#include "learner/lessons.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("faults");

static const std::string fault =
    "kernel tiled_kernel, block (0,0,0) of (1,1,1), thread (1,0,0) of (32,32,1): race: this thread reads bytes 0 to 3 "
    "of "
    "the shared array a_tile at work/17_cuda_matmul.cu:41, and thread (0,0,0) wrote it at work/17_cuda_matmul.cu:35";

static std::string with(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

TEST_CASE("a fault inside a kernel names the kernel and the block") {
  CHECK(is_kernel_fault(fault));
  CHECK_FALSE(is_kernel_fault("launch of add_kernel with grid (0,1,1), block (256,1,1): the grid is empty"));
  CHECK_FALSE(is_kernel_fault("cudaMalloc(&x, bytes): 99 bytes of device memory wanted, 5 free"));
  CHECK_FALSE(is_kernel_fault(""));
}

TEST_CASE("faults are alike but for places, numbers and namespaces") {
  CHECK(alike_faults(fault, with(fault, "work/17_cuda_matmul.cu:41", "lessons/17_cuda_matmul/mistakes.cu:1234")));
  CHECK(alike_faults(fault, with(fault, "thread (1,0,0)", "thread (7,3,0)")));
  CHECK(alike_faults(fault, with(fault, "kernel tiled", "kernel lesson_17::no_barrier::tiled")));
  CHECK_FALSE(alike_faults(fault, with(fault, "a_tile", "b_tile")));
  CHECK_FALSE(alike_faults(fault, with(fault, "reads", "writes")));
  CHECK_FALSE(alike_faults(fault, with(fault, "tiled_kernel", "registers_kernel")));
  CHECK_FALSE(alike_faults(fault, with(fault, "race", "out of bounds")));
  CHECK_FALSE(alike_faults("3 heads do not divide by 2", "5 heads do not divide by 4"));  // no line of a kernel's file
}

TEST_CASE("a call of the runtime that fails is known by its words") {
  const std::string call =
      "cudaMemcpy(to, from, 4, kind): the source, 0x5602, is no device memory (16_cuda_first.cu:30)";
  CHECK(alike_faults(call, with(with(call, "0x5602", "0x7fab"), ":30", ":812")));
  CHECK_FALSE(alike_faults(call, with(call, "source", "destination")));
}

TEST_CASE("a launch that fails names no line: it is the same but for namespaces") {
  const std::string launch = "launch of lesson_16::add_kernel with grid (0,1,1), block (256,1,1): the grid is empty";
  CHECK(alike_faults(launch, with(launch, "lesson_16::", "lesson_16::grid_rounded_down::")));
  CHECK_FALSE(alike_faults(launch, with(launch, "256", "128")));
}

TEST_SUITE_END();
