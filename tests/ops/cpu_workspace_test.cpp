#include "rungs/ops/cpu_workspace.hpp"

#include "rungs/measure/peak_memory.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("ops");

TEST_CASE("a product takes for itself what was predicted") {
#ifdef __SANITIZE_ADDRESS__
  MESSAGE("SKIPPED: the sanitizer's malloc takes more");
#else
  if (!reset_peak_memory()) {
    MESSAGE("SKIPPED: this kernel does not let a process reset its peak");
    return;
  }
  const int64_t C = 512, K = 800;
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t N : {int64_t(4), int64_t(4000)}) {
      CAPTURE(N);
      CAPTURE(name_of(dtype));
      const Tensor x = random_tensor({N, C}, 1), weight = converted(random_tensor({K, C}, 2), dtype);
      Tensor out({N, K});
      CpuOps().linear(out, x, weight, {});  // so that the code is in memory, and threads are there
      CpuOps ops;
      reset_peak_memory();
      const int64_t before = *resident_memory();
      ops.linear(out, x, weight, {});
      const int64_t predicted = linear_workspace(N, C, dtype), took = *peak_memory() - before;
      CHECK((predicted > 0) == (N == 4000 || dtype == DType::bf16));
      CHECK(std::abs(took - predicted) < 1 << 20);
    }
#endif
}

TEST_SUITE_END();
