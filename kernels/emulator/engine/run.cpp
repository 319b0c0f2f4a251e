/// What a kernel is called, and which OS thread runs which of its blocks.
#include <fmt/format.h>
#include <omp.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>

#include "kernels/emulator/engine/dry_run.hpp"
#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/engine/kernel_info.hpp"
#include "kernels/emulator/engine/multiprocessor.hpp"
#include "kernels/emulator/engine/signals.hpp"
#include "rungs/base/error.hpp"

namespace rungs::emulator {
namespace {

/// Of the kernels that were launched, by their address.
struct Blocks {
  std::mutex mutex;
  std::map<const void*, LargestBlock> largest;
};
Blocks& blocks_launched() {
  static Blocks blocks;
  return blocks;
}

std::atomic<uint64_t> launched = 0;

}  // namespace

uint64_t launches() { return launched; }

void note_launch(const Launch& launch) {
  const std::lock_guard lock(blocks_launched().mutex);
  LargestBlock& block = blocks_launched().largest[launch.kernel];
  unsigned& largest = in_dry_run ? block.dry_threads : block.threads;
  largest = std::max(largest, launch.block.x * launch.block.y * launch.block.z);
  block.dynamic_bytes = std::max(block.dynamic_bytes, launch.shared_bytes);
}

std::vector<LargestBlock> largest_blocks() {
  const std::lock_guard lock(blocks_launched().mutex);
  std::vector<LargestBlock> list;
  for (const void* kernel : kernels_of_program()) {
    list.push_back(blocks_launched().largest[kernel]);
    list.back().kernel = name_of_function(uintptr_t(kernel));
  }
  return list;
}

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
  checked_launch_begins(kernel.name, launch.overlap);
#endif
  ++launched;
  take_fault_signals();
  const DeviceMemoryOpen open;
  const std::string fault = run_blocks(plan);
  if (!fault.empty()) throw CudaError(fault);
}

}  // namespace rungs::emulator
