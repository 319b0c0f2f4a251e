/// A launch: is it allowed, what is it called, and which OS thread runs which of its blocks.
#include "host/launch.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>

#include "host/engine.hpp"
#include "host/kernels.hpp"
#include "host/multiprocessor.hpp"
#include "host/signals.hpp"
#include "host/stream.hpp"
#include "launch.cuh"

namespace rungs::host {

const KernelInfo& kernel_info(const void* kernel) {
  static std::mutex mutex;
  static std::map<const void*, KernelInfo> known;
  const std::lock_guard lock(mutex);
  const auto [it, fresh] = known.try_emplace(kernel);
  KernelInfo& info = it->second;
  if (fresh) {
    info.name = name_of_function(uintptr_t(kernel));
    for (const SharedSymbol& array : shared_symbols()) {
      if (array.kernel == kernel) info.static_shared_bytes += array.bytes;
      if (array.kernel == kernel || !array.kernel) info.shared.push_back(&array);
    }
  }
  return info;
}

/// The limit that the launch breaks; empty when it breaks none.
static std::string broken_limit(const Launch& launch, const KernelInfo& kernel) {
  const dim3 &grid = launch.grid, &block = launch.block;
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (uint64_t(grid.x) * grid.y * grid.z == 0) return "the grid is empty";
  if (threads == 0) return "the block is empty";
  if (threads > max_threads_per_block)
    return fmt::format("a block of {} threads, the limit is {}", threads, max_threads_per_block);
  if (block.z > max_block_z) return fmt::format("blockDim.z is {}, the limit is {}", block.z, max_block_z);
  if (grid.x > max_grid_x) return fmt::format("gridDim.x is {}, the limit is {}", grid.x, max_grid_x);
  if (grid.y > max_grid_yz || grid.z > max_grid_yz)
    return fmt::format("gridDim.y is {} and gridDim.z is {}, the limit of each is {}", grid.y, grid.z, max_grid_yz);
  if (kernel.static_shared_bytes > shared_bytes_per_block)
    return fmt::format("{} bytes of static shared memory, the limit is {}", kernel.static_shared_bytes,
                       shared_bytes_per_block);
  const size_t shared = kernel.static_shared_bytes + launch.shared_bytes;
  if (shared > shared_bytes_per_block_optin)
    return fmt::format("{} bytes of shared memory, {} of them static, the limit is {}", shared,
                       kernel.static_shared_bytes, shared_bytes_per_block_optin);
  return "";
}

static ThreadOrder thread_order() {
  const char* value = std::getenv("RUNGS_THREAD_ORDER");
  const std::string_view text = value ? value : "";
  if (text.empty() || text == "forward") return {};
  if (text == "reverse") return {ThreadOrder::reverse, 0};
  if (text.starts_with("random:")) {
    uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data() + 7, text.data() + text.size(), seed);
    if (error == std::errc() && end == text.data() + text.size()) return {ThreadOrder::random, seed};
  }
  throw CudaError(fmt::format("RUNGS_THREAD_ORDER is '{}': it can be forward, reverse or random:SEED", text));
}

/// The i-th block to run: of random order, steps of a length that meets each block once.
static uint64_t block_at(uint64_t i, uint64_t blocks, const ThreadOrder& order) {
  if (order.kind == ThreadOrder::forward) return i;
  if (order.kind == ThreadOrder::reverse) return blocks - 1 - i;
  uint64_t step = order.seed * 2654435761u % blocks + 1;
  while (std::gcd(step, blocks) != 1) ++step;
  return (order.seed + i * (step % blocks)) % blocks;
}

/// \returns the first fault; empty when there was none.
static std::string run_blocks(const Plan& plan) {
  const dim3& grid = plan.launch.grid;
  const uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
  std::string fault;
  std::atomic<bool> failed = false;
  const auto run = [&](uint64_t i) {
    std::string found = Multiprocessor::mine().run_block(block_at(i, blocks, plan.order));
    if (!found.empty() && !failed.exchange(true)) fault = std::move(found);
  };
#ifdef RUNGS_ONE_BLOCK_AT_A_TIME
  constexpr bool share = false;
#else
  const bool share = blocks > 1 && blocks * uint64_t(plan.threads) >= 512;  // below, waking a thread costs more
#endif
  if (share) {
#pragma omp parallel
    {
      Multiprocessor::mine().begin(plan);
#pragma omp for schedule(dynamic, 1)
      for (uint64_t i = 0; i < blocks; ++i)
        if (!failed.load(std::memory_order_relaxed)) run(i);
    }
  } else {
    Multiprocessor::mine().begin(plan);
    for (uint64_t i = 0; i < blocks && !failed; ++i) run(i);
  }
  return fault;
}

void run(const Launch& launch) {
  const KernelInfo& kernel = kernel_info(launch.kernel);
  const Plan plan{launch,         kernel.name,       int(launch.block.x * launch.block.y * launch.block.z),
                  thread_order(), seconds_allowed(), kernel.shared};
#ifdef RUNGS_ONE_BLOCK_AT_A_TIME
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
#endif
#ifdef RUNGS_CHECKED
  checked_launch_begins(kernel.name);
#endif
  take_fault_signals();
  const std::string fault = run_blocks(plan);
  if (!fault.empty()) throw CudaError(fault);
}

void launch(const Launch& launch) {
  const KernelInfo& kernel = kernel_info(launch.kernel);
  if (in_kernel()) fail("a kernel cannot launch a kernel");
  if (const std::string limit = broken_limit(launch, kernel); !limit.empty())
    throw CudaError(fmt::format("launch of {} with grid {}, block {}, {} bytes of dynamic shared memory: {}",
                                kernel.name, text_of(launch.grid), text_of(launch.block), launch.shared_bytes, limit));
  std::shared_ptr<const void> arguments;  // a capture keeps a copy, a launch that is done now needs none
  Launch kept = launch;
  if (being_captured(launch.stream)) {
    arguments = launch.copy(launch.arguments);
    kept.arguments = arguments.get();
  }
  if (enqueue(kernel.name.c_str(), launch.stream, [kept, arguments] { run(kept); }))
    throw CudaError(cudaGetErrorString(cudaPeekAtLastError()));
}

}  // namespace rungs::host
