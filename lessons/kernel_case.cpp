#include "kernel_case.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ostream>

#include "kernels/emulator/checker/count.hpp"
#include "kernels/emulator/engine/engine.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

static constexpr const char* order_variable = "RUNGS_THREAD_ORDER";  // the engine reads it at each launch

/// Sets the order of threads while it lives.
struct OrderOfThreads {
  explicit OrderOfThreads(const char* order) { setenv(order_variable, order, 1); }
  ~OrderOfThreads() { unsetenv(order_variable); }
  OrderOfThreads(const OrderOfThreads&) = delete;
  OrderOfThreads& operator=(const OrderOfThreads&) = delete;
};

static void compare_orders(const Recorded& a, const Recorded& b) {
  if (a.name != b.name || a.value.shape() != b.value.shape())
    throw Error("the order of the threads changes which outputs there are");
  for (int64_t i = 0; i < a.value.count(); ++i) {
    const double x = a.value.value(i), y = b.value.value(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    throw Error(
        fmt::format("the order of the threads changes {}: its element {} is {:g} when they run one after the "
                    "other, and {:g} in a random order",
                    a.name, i, x, y));
  }
}

static std::vector<const Recorded*> outputs(const Recording& recording) {
  std::vector<const Recorded*> list;
  for (const Recorded& p : recording.pieces)
    if (p.is_output) list.push_back(&p);
  return list;
}

/// A case of these lessons is work for kernels: copied to the host, computed there and copied back, it is right and
/// slow.
static void run_launched(const CaseInput& in, Recording& out, RunCase run) {
  const uint64_t before = emulator::launches();
  run(in, out);
  if (emulator::launches() == before)
    throw Error("no kernel was launched: wanted one that computes this case, found work of the host alone");
}

static void run_in_two_orders(const CaseInput& in, Recording& out, RunCase run) {
  out.keeps = true;
  {
    const OrderOfThreads order("forward");
    run_launched(in, out, run);
  }
  watch_taps({});  // they were all seen
  Recording again;
  const OrderOfThreads order("random:1");
  run_launched(in, again, run);
  const auto first = outputs(out), second = outputs(again);
  if (first.size() != second.size()) throw Error("the order of the threads changes which outputs there are");
  for (size_t i = 0; i < first.size(); ++i) compare_orders(*first[i], *second[i]);
}

/// The engine takes what a kernel throws for a fault. A step that is not written yet is none.
static void throw_when_not_written(const std::string& fault) {
  const size_t step = fault.find("step ", fault.find("C++ exception: "));
  if (step != fault.npos) throw NotWritten(fault.substr(step));
}

static void run_once_or_twice(const CaseInput& in, Recording& out, RunCase run) {
  if (!emulator::counting() && !std::getenv(order_variable)) return run_in_two_orders(in, out, run);
  emulator::reset_counts();
  run_launched(in, out, run);
  if (const char* file = std::getenv("RUNGS_COUNTS"))
    write_whole(file, [](std::ostream& to) { to << emulator::counted_json(emulator::counted_lines()) << "\n"; });
}

void run_kernels(const CaseInput& in, Recording& out, RunCase run) try {
  emulator::close_device_memory();
  run_once_or_twice(in, out, run);
} catch (const Error& e) {
  throw_when_not_written(e.what());
  throw;
}

size_t allocated_device_bytes() { return emulator::allocated_bytes(); }

}  // namespace rungs
