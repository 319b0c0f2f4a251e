/// Device memory: the machine's own, with an account of what was allocated, so that a copy in the wrong direction or
/// over the end is seen, and in a checked build an access from the host's code.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "kernels/emulator/engine/dry_run.hpp"
#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/engine/signals.hpp"
#include "kernels/emulator/runtime/device_pages.hpp"
#include "kernels/emulator/runtime/stream.hpp"

#ifdef RUNGS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace rungs::emulator {
namespace {

constexpr size_t alignment = 256;  // what a GPU promises

struct Allocations {
  std::mutex mutex;
  std::map<uintptr_t, size_t> bytes;  // by address
  std::set<uintptr_t> addresses;      // those of a dry run, behind which there is no memory
  bool closed = false;                // to the host's code
  int open = 0;                       // how many DeviceMemoryOpen there are
#ifdef RUNGS_CHECKED
  DevicePages pages{checked_gap_bytes};
#endif

  /// Bytes from `address` to the end of its allocation; 0 outside of all.
  size_t left_at(const void* address) {
    const std::lock_guard lock(mutex);
    auto it = bytes.upper_bound(uintptr_t(address));
    if (it == bytes.begin()) return 0;
    --it;
    const size_t offset = uintptr_t(address) - it->first;
    return offset < it->second ? it->second - offset : 0;
  }
};
Allocations& allocations() {
  static Allocations a;
  return a;
}

[[maybe_unused]] size_t room_for(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment + alignment; }

#ifdef RUNGS_CHECKED
// The mutex is held.
void* get_memory(size_t bytes) { return allocations().pages.get(bytes); }
void give_back_memory(void* memory) { allocations().pages.give_back(memory); }
void protect_all(int protection) { allocations().pages.protect(protection); }
#else
void* get_memory(size_t bytes) { return std::aligned_alloc(alignment, room_for(bytes)); }
void give_back_memory(void* memory) { std::free(memory); }
void protect_all(int) {}
#endif

/// In bytes, from the system's account of its memory.
void memory_of_machine(size_t* free, size_t* total) {
  *free = *total = 0;
  if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[128];
    size_t kilobytes = 0;
    while (std::fgets(line, sizeof line, file)) {
      if (std::sscanf(line, "MemTotal: %zu", &kilobytes) == 1) *total = kilobytes << 10;
      if (std::sscanf(line, "MemAvailable: %zu", &kilobytes) == 1) *free = kilobytes << 10;
    }
    std::fclose(file);
  }
}

/// What is wrong with one side of a copy; empty when nothing is.
std::string wrong_side(const char* side, const void* address, size_t bytes, bool on_device) {
  const size_t left = allocations().left_at(address);
  if (!on_device)
    return left ? fmt::format("the {}, {}, is device memory and should be the host's", side, address) : "";
  if (left >= bytes) return "";
  if (left) return fmt::format("{} bytes, but the {} has {} left on the device", bytes, side, left);
  return fmt::format("the {}, {}, is no device memory", side, address);
}

cudaError_t check_copy(const char* call, const void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0 || kind == cudaMemcpyDefault) return cudaSuccess;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  std::string wrong = wrong_side("destination", to, bytes, to_device);
  if (wrong.empty()) wrong = wrong_side("source", from, bytes, from_device);
  if (wrong.empty()) return cudaSuccess;
  return report(cudaErrorInvalidValue, fmt::format("{}: {}", call, wrong));
}

void copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const DeviceMemoryOpen open;
  kernels_ended();
  std::memmove(to, from, bytes);
#ifdef RUNGS_CHECKED
  if (allocations().left_at(to)) checked_host_write(uintptr_t(to), bytes);
#endif
}

void set(void* memory, int value, size_t bytes) {
  if (bytes == 0) return;
  const DeviceMemoryOpen open;
  kernels_ended();
  std::memset(memory, value, bytes);
#ifdef RUNGS_CHECKED
  checked_host_write(uintptr_t(memory), bytes);
#endif
}

}  // namespace

size_t allocated_bytes() {
  const std::lock_guard lock(allocations().mutex);
  size_t sum = 0;
  for (const auto& [address, bytes] : allocations().bytes) sum += bytes;
  return sum;
}

bool in_device_memory(uintptr_t address) { return allocations().left_at(reinterpret_cast<const void*>(address)) > 0; }

void close_device_memory() {
  allocations().closed = true;
  take_fault_signals();
}
DeviceMemoryOpen::DeviceMemoryOpen() {
  if (!allocations().closed) return;
  const std::lock_guard lock(allocations().mutex);
  if (allocations().open++ == 0) protect_all(PROT_READ | PROT_WRITE);
}
DeviceMemoryOpen::~DeviceMemoryOpen() {
  if (!allocations().closed) return;
  const std::lock_guard lock(allocations().mutex);
  if (--allocations().open == 0) protect_all(PROT_NONE);
}

}  // namespace rungs::emulator

using namespace rungs::emulator;

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  memory_of_machine(free, total);
  if (in_dry_run) *free = *total = size_t(1) << 46;  // half of the addresses that a process has
  return cudaSuccess;
}

/// Device memory of a dry run: nobody may touch it, so it takes none of the machine's.
static cudaError_t reserve_addresses(void** memory, size_t bytes) {
  void* addresses = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED)
    return report(cudaErrorMemoryAllocation, fmt::format("{} bytes: there are not so many addresses left", bytes));
  const std::lock_guard lock(allocations().mutex);
  allocations().bytes[uintptr_t(addresses)] = bytes;
  allocations().addresses.insert(uintptr_t(addresses));
  *memory = addresses;
  return cudaSuccess;
}
static bool give_back_addresses(void* memory) {
  const std::lock_guard lock(allocations().mutex);
  if (!allocations().addresses.erase(uintptr_t(memory))) return false;
  munmap(memory, allocations().bytes[uintptr_t(memory)]);
  allocations().bytes.erase(uintptr_t(memory));
  return true;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  if (illegal_in_capture("cudaMalloc")) return cudaErrorStreamCaptureUnsupported;
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (in_dry_run) return reserve_addresses(memory, bytes);
  size_t free = bytes, total = 0;
  if (bytes > size_t(64) << 20) memory_of_machine(&free, &total);  // the system promises more than it has
  const DeviceMemoryOpen open;
  if (bytes <= free) {
    const std::lock_guard lock(allocations().mutex);
    *memory = get_memory(bytes);
    if (*memory) allocations().bytes[uintptr_t(*memory)] = bytes;
  }
  if (!*memory)
    return report(cudaErrorMemoryAllocation, fmt::format("{} bytes of device memory wanted, {} free", bytes, free));
  std::memset(*memory, 0xff, bytes);  // NaN: what nobody has written shows
#ifdef RUNGS_ASAN
  __asan_poison_memory_region(static_cast<char*>(*memory) + bytes, room_for(bytes) - bytes);
#endif
#ifdef RUNGS_CHECKED
  checked_allocation(uintptr_t(*memory), bytes);
#endif
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  if (!memory) return cudaSuccess;
  if (illegal_in_capture("cudaFree")) return cudaErrorStreamCaptureUnsupported;
  if (give_back_addresses(memory)) return cudaSuccess;
  const std::lock_guard lock(allocations().mutex);
  const auto it = allocations().bytes.find(uintptr_t(memory));
  if (it == allocations().bytes.end())
    return report(cudaErrorInvalidValue,
                  fmt::format("cudaFree: {} is not the begin of device memory, or freed already", memory));
#ifdef RUNGS_ASAN
  __asan_unpoison_memory_region(memory, room_for(it->second));
#endif
#ifdef RUNGS_CHECKED
  checked_free(uintptr_t(memory));
#endif
  allocations().bytes.erase(it);
  give_back_memory(memory);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  *memory = std::malloc(bytes ? bytes : 1);
  return *memory ? cudaSuccess : report(cudaErrorMemoryAllocation, fmt::format("{} bytes of host memory", bytes));
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t error = check_copy("cudaMemcpyAsync", to, from, bytes, kind)) return error;
  return enqueue("cudaMemcpyAsync", stream, [=] { copy(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  if (const std::string wrong = bytes ? wrong_side("memory", memory, bytes, true) : ""; !wrong.empty())
    return report(cudaErrorInvalidValue, "cudaMemset: " + wrong);
  return enqueue("cudaMemsetAsync", stream, [=] { set(memory, value, bytes); });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = check_copy("cudaMemcpy", to, from, bytes, kind)) return error;
  return enqueue("cudaMemcpy", nullptr, [=] { copy(to, from, bytes); });
}
cudaError_t cudaMemset(void* memory, int value, size_t bytes) { return cudaMemsetAsync(memory, value, bytes, nullptr); }
