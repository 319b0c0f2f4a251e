/// An OS thread that runs blocks, one after the other, as a multiprocessor of a GPU does. Inside of the engine.
///
/// A fiber runs the block's threads one after the other, in a plain loop. Only when a thread has to wait, at a barrier
/// or for lanes of its warp, does it keep that fiber for itself, and another fiber goes on with the loop. So a kernel
/// that never waits costs two switches a block, and one that waits one switch per thread and barrier.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/emulator/engine/async_copy.hpp"
#include "kernels/emulator/engine/fiber.hpp"
#include "kernels/emulator/engine/launch.hpp"
#include "kernels/emulator/engine/symbols.hpp"
#include "kernels/emulator/language/warp.hpp"

namespace rungs::emulator {

/// Which of several threads goes first: RUNGS_THREAD_ORDER.
struct ThreadOrder {
  enum { forward, reverse, random } kind = forward;
  uint64_t seed = 0;
};

/// What a launch is to the multiprocessors that share its blocks.
struct Plan {
  const Launch& launch;
  std::string kernel;  ///< its name
  int threads;         ///< of a block
  ThreadOrder order;
  double seconds;                           ///< of processor time that a block may take
  std::vector<const SharedSymbol*> shared;  ///< the arrays to fill with NaN before each block
};

class Multiprocessor {
 public:
  /// The one of this OS thread.
  static Multiprocessor& mine();
  Multiprocessor();
  ~Multiprocessor();

  /// Gets ready for the blocks of a launch.
  void begin(const Plan& plan);
  /// \returns what went wrong, with the place; empty when all threads returned.
  std::string run_block(uint64_t index);

  /// \name For the running thread
  ///@{
  int barrier(const char* operation, bool vote, Site site);
  void warp_operation(const char* name, WarpFunction function, unsigned mask, void* operands, Site site);
  void* dynamic_shared();
  [[noreturn]] void fail(std::string fault);
  ///@}

  enum class State : unsigned char { not_started, ready, at_barrier, at_warp_operation, returned };
  struct Thread {
    Fiber* fiber;
    uint3 index;
    State state;
    bool waited;  ///< for the kernels before this one
  };
  struct WarpCall {
    const char* name;
    WarpFunction function;
    unsigned mask;
    Site site;
  };
  struct Warp {
    unsigned existing, waiting;  // sets of lanes
    WarpCall call[32];           // of those that wait
    void* operands[32];
  };
  struct AsyncCopy {
    void* destination;
    const void* source;
    size_t bytes, valid;
    unsigned group;
  };
  struct AsyncCopies {
    std::vector<AsyncCopy> pending;
    unsigned open_group = 0;
  };

  /// \name For the rest of the engine
  ///@{
  const Plan* plan = nullptr;
  bool running = false;    ///< a block
  bool user_code = false;  ///< and the kernel's own code, not the engine
  int current = 0;         ///< the running thread
  unsigned barriers = 0;   ///< that the block has passed
  uint64_t blocks = 0;     ///< begun, ever
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<AsyncCopies> copies;  ///< of each thread; empty when the launch has made none
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::string place(int thread) const;  ///< "kernel add, block (1,0,0) of (8,1,1), thread (3,0,0) of (64,1,1)"
                                        ///@}

 private:
  static void enter_fiber() noexcept;
  void begin_block(uint64_t index);
  void end_block();
  void run_threads(Fiber& self);
  void run_thread(int index, Fiber& fiber);
  Fiber& idle_fiber();
  void choose_order(uint64_t block);
  bool any_ready() const { return ready_begin_ != ready_end_; }
  void make_ready(int thread);
  int next_ready();
  void switch_to_thread(Fiber& from, int index);
  void suspend();

  /// \name The ways to wait for ever: faults.cpp
  ///@{
  [[noreturn]] void fail_stuck();
  [[noreturn]] void fail_at_another_barrier(const char* operation, Site site);
  [[noreturn]] void fail_mask_without_caller(const WarpCall& call);
  [[noreturn]] void fail_other_operation(const Warp& warp, unsigned lane, unsigned other);
  ///@}

  int count_ = 0, started_ = 0, returned_ = 0, arrived_ = 0, votes_ = 0, last_votes_ = 0;
  const char* barrier_operation_ = nullptr;
  Site barrier_site_{};
  Fiber main_;
  Fiber* starting_ = nullptr;
  std::vector<Fiber*> idle_;
  std::vector<uint16_t> order_, ready_;  // ready_: a ring, its size a power of two
  unsigned ready_begin_ = 0, ready_end_ = 0, ready_mask_ = 0;
  std::mt19937_64 random_;
  unsigned char* dynamic_ = nullptr;
  size_t dynamic_bytes_ = 0;
  dim3 block_{0, 0, 0};  // whose indices are in `threads`
  std::string fault_;
};

/// The one of this OS thread when it runs blocks or has done so.
extern constinit thread_local Multiprocessor* current_multiprocessor;

/// "(1,0,0)"
std::string text_of(const uint3& index);
std::string text_of(const dim3& size);

}  // namespace rungs::emulator
