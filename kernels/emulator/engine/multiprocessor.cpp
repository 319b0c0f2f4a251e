#include "kernels/emulator/engine/multiprocessor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/engine/signals.hpp"

#ifdef RUNGS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace rungs::emulator {

constinit thread_local Multiprocessor* current_multiprocessor = nullptr;

Multiprocessor& Multiprocessor::mine() {
  thread_local Multiprocessor multiprocessor;
  return multiprocessor;
}

Multiprocessor::Multiprocessor() { current_multiprocessor = this; }

Multiprocessor::~Multiprocessor() {
  current_multiprocessor = nullptr;
  std::free(dynamic_);
}

void Multiprocessor::begin(const Plan& p) {
  plan = &p;
  const Launch& launch = p.launch;
  count_ = p.threads;
  watch_time(p.seconds);
  if (threads.size() < size_t(count_)) {
    threads.resize(size_t(count_));
    order_.resize(size_t(count_));
    warps.resize((size_t(count_) + 31) / 32);
    ready_.resize(std::bit_ceil(size_t(count_) + 1));
    ready_mask_ = unsigned(ready_.size()) - 1;
    block_ = {0, 0, 0};
  }
  if (launch.block.x != block_.x || launch.block.y != block_.y || launch.block.z != block_.z) {
    block_ = launch.block;
    size_t i = 0;
    for (unsigned z = 0; z < block_.z; ++z)
      for (unsigned y = 0; y < block_.y; ++y)
        for (unsigned x = 0; x < block_.x; ++x) threads[i++].index = {x, y, z};
  }
  if (dynamic_bytes_ != launch.shared_bytes) {
    std::free(dynamic_);
    dynamic_bytes_ = launch.shared_bytes;
    const size_t room = (dynamic_bytes_ + 127) / 128 * 128;
    dynamic_ = room ? static_cast<unsigned char*>(std::aligned_alloc(128, room)) : nullptr;
#ifdef RUNGS_ASAN
    if (room > dynamic_bytes_) __asan_poison_memory_region(dynamic_ + dynamic_bytes_, room - dynamic_bytes_);
#endif
  }
  blockDim = launch.block;
  gridDim = launch.grid;
  copies.clear();
  choose_order(0);
}

void Multiprocessor::choose_order(uint64_t block) {
  const auto begin = order_.begin(), end = begin + count_;
  for (int i = 0; i < count_; ++i) order_[size_t(i)] = uint16_t(i);
  if (plan->order.kind == ThreadOrder::reverse) std::reverse(begin, end);
  if (plan->order.kind == ThreadOrder::random) {
    random_.seed(plan->order.seed * 0x9e3779b97f4a7c15u + block);
    std::shuffle(begin, end, random_);
  }
}

/// Bytes of ones: NaN in every float format. Outside of AddressSanitizer's sight, since red zones lie between arrays.
__attribute__((no_sanitize("address"))) static void fill_with_nan(unsigned char* memory, size_t bytes) {
#ifdef RUNGS_ASAN  // volatile: as a call of memset it would be in sight
  using Word [[gnu::aligned(1), gnu::may_alias]] = uint64_t;
  size_t i = 0;
  for (; i + sizeof(Word) <= bytes; i += sizeof(Word)) *reinterpret_cast<volatile Word*>(memory + i) = ~Word(0);
  for (; i < bytes; ++i) static_cast<volatile unsigned char*>(memory)[i] = 0xff;
#else
  std::memset(memory, 0xff, bytes);
#endif
}

void Multiprocessor::begin_block(uint64_t index) {
  const dim3& grid = plan->launch.grid;
  blockIdx = {unsigned(index % grid.x), unsigned(index / grid.x % grid.y), unsigned(index / grid.x / grid.y)};
  if (plan->order.kind == ThreadOrder::random) choose_order(index);
  started_ = returned_ = arrived_ = votes_ = 0;
  ready_begin_ = ready_end_ = barriers = 0;
  for (int i = 0; i < count_; ++i) {
    threads[size_t(i)].state = State::not_started;
    threads[size_t(i)].waited = !plan->launch.overlap;
  }
  for (int first = 0; first < count_; first += 32) {
    Warp& warp = warps[size_t(first) / 32];
    warp.existing = count_ - first >= 32 ? ~0u : (1u << (count_ - first)) - 1;
    warp.waiting = 0;
  }
  for (auto& thread : copies) thread = {};
  for (const SharedSymbol* array : plan->shared) fill_with_nan(address(*array), array->bytes);
  if (dynamic_) fill_with_nan(dynamic_, dynamic_bytes_);
  ++blocks;
}

std::string Multiprocessor::run_block(uint64_t index) {
  begin_block(index);
  fault_.clear();
  running = true;
#ifdef RUNGS_CHECKED
  checked_block_begins(dynamic_, dynamic_bytes_);
#endif
  starting_ = &idle_fiber();
  main_.switch_to(*starting_);
  running = user_code = false;
  if (!fault_.empty()) {  // fibers stopped anywhere
    idle_.clear();
    for (auto& fiber : fibers) {
      fiber->restart();
      idle_.push_back(fiber.get());
    }
  }
  return std::move(fault_);
}

Fiber& Multiprocessor::idle_fiber() {
  if (idle_.empty()) {
    fibers.push_back(std::make_unique<Fiber>(enter_fiber, int(fibers.size())));
    idle_.push_back(fibers.back().get());
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Multiprocessor::enter_fiber() noexcept {
  Multiprocessor& self = *current_multiprocessor;
  Fiber::entered(self.main_);
  self.run_threads(*self.starting_);
}

void Multiprocessor::run_threads(Fiber& self) {
  for (;;) {
    while (started_ < count_) {
      run_thread(order_[size_t(started_++)], self);
      if (any_ready()) break;
    }
    idle_.push_back(&self);
    if (any_ready()) {
      switch_to_thread(self, next_ready());
    } else if (returned_ == count_) {
      end_block();
      self.switch_to(main_);
    } else {
      fail_stuck();
    }
  }
}

void Multiprocessor::run_thread(int index, Fiber& fiber) {
  Thread& thread = threads[size_t(index)];
  thread.fiber = &fiber;
  threadIdx = thread.index;
  current = index;
  try {
    user_code = true;
    plan->launch.call(plan->launch.arguments);
  } catch (const std::exception& exception) {
    fault_ = exception.what();
  }
  user_code = false;
  if (!fault_.empty()) {
    fault_.insert(0, "the kernel threw a C++ exception: ");
    fail(std::move(fault_));
  }
  if (!thread.waited)
    fail(
        "the thread returned before it waited for the kernels before this one. The launch lets the kernel begin while "
        "they run (LaunchShape::overlap), so every thread must wait: cudaGridDependencySynchronize()");
  thread.state = State::returned;
  ++returned_;
}

void Multiprocessor::end_block() {
  for (size_t thread = 0; thread < copies.size(); ++thread)
    if (!copies[thread].pending.empty()) {
      current = int(thread);
      fail("an asynchronous copy was begun and never waited for");
    }
#ifdef RUNGS_CHECKED
  checked_block_ends();
#endif
}

__forceinline__ void Multiprocessor::make_ready(int thread) {
  threads[size_t(thread)].state = State::ready;
  ready_[ready_end_++ & ready_mask_] = uint16_t(thread);
}

__forceinline__ int Multiprocessor::next_ready() {
  if (plan->order.kind == ThreadOrder::random) {
    const unsigned other = ready_begin_ + unsigned(random_() % (ready_end_ - ready_begin_));
    std::swap(ready_[ready_begin_ & ready_mask_], ready_[other & ready_mask_]);
  }
  const int thread = ready_[ready_begin_++ & ready_mask_];
  if (any_ready()) __builtin_prefetch(threads[ready_[ready_begin_ & ready_mask_]].fiber->stopped_at());
  return thread;
}

__forceinline__ void Multiprocessor::switch_to_thread(Fiber& from, int index) {
  Thread& thread = threads[size_t(index)];
  current = index;
  threadIdx = thread.index;
  from.switch_to(*thread.fiber);
}

/// The running thread waits; returns when it goes on.
__forceinline__ void Multiprocessor::suspend() {
  Fiber& fiber = *threads[size_t(current)].fiber;
  if (any_ready()) {
    switch_to_thread(fiber, next_ready());
  } else if (started_ < count_) {
    starting_ = &idle_fiber();
    fiber.switch_to(*starting_);
  } else {
    fail_stuck();
  }
}

__forceinline__ int Multiprocessor::barrier(const char* operation, bool vote, Site site) {
  user_code = false;
  if (arrived_ == 0) {
    barrier_operation_ = operation;
    barrier_site_ = site;
  } else if (site.line != barrier_site_.line ||
             (site.file != barrier_site_.file && std::strcmp(site.file, barrier_site_.file))) {
    fail_at_another_barrier(operation, site);
  }
  votes_ += vote;
  if (++arrived_ == count_) {
#ifdef RUNGS_CHECKED
    checked_barrier();
#endif
    ++barriers;
    arrived_ = 0;
    last_votes_ = std::exchange(votes_, 0);
    for (int i = 0; i < count_; ++i)
      if (order_[size_t(i)] != current) make_ready(order_[size_t(i)]);
  } else {
    threads[size_t(current)].state = State::at_barrier;
    suspend();
  }
  user_code = true;
  return last_votes_;  // the next barrier cannot end before this thread has come to it
}

__forceinline__ void Multiprocessor::warp_operation(const char* name, WarpFunction function, unsigned mask,
                                                    void* operands, Site site) {
  user_code = false;
  const unsigned lane = unsigned(current) % 32, me = 1u << lane;
  Warp& warp = warps[size_t(current) / 32];
  warp.call[lane] = {name, function, mask, site};
  warp.operands[lane] = operands;
  if (!(mask & me)) fail_mask_without_caller(warp.call[lane]);
  if (const unsigned others = warp.waiting & mask) {
    const WarpCall& other = warp.call[std::countr_zero(others)];
    if (other.function != function || other.mask != mask || (other.name != name && std::strcmp(other.name, name)))
      fail_other_operation(warp, lane, unsigned(std::countr_zero(others)));
  }
  warp.waiting |= me;
  const unsigned lanes = mask & warp.existing;
  if ((warp.waiting & lanes) == lanes) {
    if (function) function(warp.operands, lanes);
#ifdef RUNGS_CHECKED
    if (!function) checked_warp_barrier(current, lanes);  // __syncwarp
#endif
    warp.waiting &= ~lanes;
    const int first = current / 32 * 32;
    for (unsigned rest = lanes & ~me; rest; rest &= rest - 1) make_ready(first + std::countr_zero(rest));
  } else {
    threads[size_t(current)].state = State::at_warp_operation;
    suspend();
  }
  user_code = true;
}

void* Multiprocessor::dynamic_shared() {
  if (!dynamic_) {
    user_code = false;  // the message is the engine's
    fail("DYNAMIC_SHARED is used, but the launch gave no dynamic shared memory (LaunchShape::shared_bytes)");
  }
  return dynamic_;
}

void Multiprocessor::fail(std::string fault) {
  user_code = false;
  fault_ = place(current) + ": ";
  fault_ += fault;
  std::string().swap(fault);  // nobody comes back to free it
  Fiber abandoned;
  abandoned.switch_to(main_);
  std::abort();
}

// These are what the kernel calls. The work is inlined, so that a thread goes on after one return.

int barrier(const char* operation, bool vote, Site site) {
  return current_multiprocessor->barrier(operation, vote, site);
}

void warp_operation(const char* name, WarpFunction function, unsigned mask, void* operands, Site site) {
  current_multiprocessor->warp_operation(name, function, mask, operands, site);
}

void* dynamic_shared() { return current_multiprocessor->dynamic_shared(); }

void wait_for_earlier_kernels() {
  current_multiprocessor->threads[size_t(current_multiprocessor->current)].waited = true;
}

}  // namespace rungs::emulator
