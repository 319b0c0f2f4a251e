#include "rungs/measure/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

static std::atomic<int64_t> count{0};

namespace rungs {

int64_t allocations() { return count.load(std::memory_order_relaxed); }

}  // namespace rungs

static void counted() { count.fetch_add(1, std::memory_order_relaxed); }

#ifdef __SANITIZE_ADDRESS__  // the sanitizer stands in for malloc itself, and tells who asks

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
[[maybe_unused]] static const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { counted(); }, [](const volatile void*) {});

bool rungs::fail_allocation(int64_t) { return false; }

#else  // glibc's own functions have a second name, which stays reachable

static thread_local int64_t until_failure = 0;

bool rungs::fail_allocation(int64_t n) {
  until_failure = n;
  return true;
}

/// Counts a call, and says whether it may succeed.
static bool granted() {
  counted();
  return until_failure == 0 || --until_failure > 0;
}

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return granted() ? __libc_malloc(size) : nullptr; }
void* calloc(size_t n, size_t size) { return granted() ? __libc_calloc(n, size) : nullptr; }
void* realloc(void* old, size_t size) { return granted() ? __libc_realloc(old, size) : nullptr; }
void* aligned_alloc(size_t alignment, size_t size) { return granted() ? __libc_memalign(alignment, size) : nullptr; }
void* memalign(size_t alignment, size_t size) { return granted() ? __libc_memalign(alignment, size) : nullptr; }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* memory = granted() ? __libc_memalign(alignment, size) : nullptr;
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}
}

#endif
