#include "rungs/measure/peak_memory.hpp"

#include <sys/mman.h>

#include "support.hpp"

using namespace rungs;

TEST_SUITE_BEGIN("measure");

namespace {

constexpr int64_t size = 64 << 20;
constexpr int64_t slack = 1 << 20;  // what the kernel has not yet counted, and what this test itself takes

/// Memory from the kernel alone, so that no allocator keeps it.
struct Pages {
  char* begin = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ~Pages() { munmap(begin, size); }
  void touch(int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 4096) begin[at] = 1;
  }
};

bool near(int64_t got, int64_t want) { return std::abs(got - want) < slack; }

}  // namespace

TEST_CASE("the peak is what was touched, also after it was freed, until it is reset") {
  if (!reset_peak_memory() || !resident_memory()) {
    MESSAGE("SKIPPED: this kernel does not let a process reset its peak");
    return;
  }
  const int64_t before = *resident_memory();
  CHECK(near(*peak_memory(), before));
  {
    Pages pages;
    REQUIRE(pages.begin != MAP_FAILED);
    CHECK(near(*peak_memory() - before, 0));  // not yet touched
    pages.touch(size / 2);
    CHECK(near(*peak_memory() - before, size / 2));
    pages.touch(size);
    CHECK(near(*resident_memory() - before, size));
  }
  CHECK(near(*resident_memory() - before, 0));
  CHECK(near(*peak_memory() - before, size));
  CHECK(reset_peak_memory());
  CHECK(near(*peak_memory() - before, 0));
}

TEST_CASE("what is available is less than the machine has, and more than nothing") {
  const std::optional<int64_t> available = available_memory();
  if (!available) {
    MESSAGE("SKIPPED: this kernel does not say");
    return;
  }
  CHECK(*available > 0);
  CHECK(*available < int64_t(1) << 46);
}

TEST_SUITE_END();
