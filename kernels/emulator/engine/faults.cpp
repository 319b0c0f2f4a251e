/// What is said when the threads of a block wait for each other in vain. Nothing may be left to destroy when fail() is
/// called, for it does not come back: texts are made first, and moved.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/engine/multiprocessor.hpp"

namespace rungs::emulator {

std::string text_of(const uint3& index) { return fmt::format("({},{},{})", index.x, index.y, index.z); }
std::string text_of(const dim3& size) { return fmt::format("({},{},{})", size.x, size.y, size.z); }

static std::string text_of(const char* operation, Site site) {
  const char* folder = std::strrchr(site.file, '/');
  return fmt::format("{} in {}:{}", operation, folder ? folder + 1 : site.file, site.line);
}

std::string Multiprocessor::place(int thread) const {
  return fmt::format("kernel {}, block {} of {}, thread {} of {}", plan->kernel, text_of(blockIdx), text_of(gridDim),
                     text_of(threads[size_t(thread)].index), text_of(blockDim));
}

/// "4 threads, the first of them (60,0,0), have returned"; those that `holds` says.
template <class Holds>
static std::string count_threads(const Multiprocessor& m, int count, const char* verb, Holds holds) {
  int n = 0, first = -1;
  for (int i = 0; i < count; ++i)
    if (holds(i)) {
      if (first < 0) first = i;
      ++n;
    }
  if (n == 0) return "";
  const std::string index = text_of(m.threads[size_t(first)].index);
  if (n == 1) return fmt::format("; thread {} {}", index, verb);
  return fmt::format("; {} threads, first {}, {}", n, index, verb);
}

void Multiprocessor::fail_stuck() {
  const auto in_state = [&](State state) { return [&, state](int i) { return threads[size_t(i)].state == state; }; };
  int first = 0;  // of the threads that wait: the one to name
  while (threads[size_t(first)].state == State::returned) ++first;
  std::string text = "the threads of the block wait for each other";
  if (arrived_)
    text += count_threads(*this, count_, ("at " + text_of(barrier_operation_, barrier_site_)).c_str(),
                          in_state(State::at_barrier));
  for (int w = 0; w * 32 < count_; ++w) {
    const Warp& warp = warps[size_t(w)];
    if (!warp.waiting) continue;
    const WarpCall& call = warp.call[std::countr_zero(warp.waiting)];
    const unsigned missing = call.mask & warp.existing & ~warp.waiting;
    text += count_threads(*this, count_, ("at " + text_of(call.name, call.site)).c_str(),
                          [&](int i) { return i / 32 == w && (warp.waiting >> (i % 32) & 1); });
    text += fmt::format(" with mask {:#010x}, which names lanes {:#010x} that are not there", call.mask, missing);
    break;  // one warp is enough to see it
  }
  text += count_threads(*this, count_, "returned from the kernel", in_state(State::returned));
  current = first;
  fail(std::move(text));
}

void Multiprocessor::fail_at_another_barrier(const char* operation, Site site) {
  std::string text = fmt::format("the thread is at {}", text_of(operation, site));
  text += count_threads(*this, count_,
                        fmt::format("at {}: all threads of a block must come to the same barrier",
                                    text_of(barrier_operation_, barrier_site_))
                            .c_str(),
                        [&](int i) { return threads[size_t(i)].state == State::at_barrier; });
  fail(std::move(text));
}

void Multiprocessor::fail_mask_without_caller(const WarpCall& call) {
  std::string text = fmt::format("{}: mask {:#010x} does not name the calling lane {}", text_of(call.name, call.site),
                                 call.mask, current % 32);
  fail(std::move(text));
}

void Multiprocessor::fail_other_operation(const Warp& warp, unsigned lane, unsigned other) {
  const WarpCall &mine = warp.call[lane], &theirs = warp.call[other];
  std::string text = fmt::format(
      "lane {} is at {} with mask {:#010x}, lane {} at {} with mask {:#010x}: lanes named in a mask must call the "
      "same operation with the same mask",
      lane, text_of(mine.name, mine.site), mine.mask, other, text_of(theirs.name, theirs.site), theirs.mask);
  fail(std::move(text));
}

}  // namespace rungs::emulator
