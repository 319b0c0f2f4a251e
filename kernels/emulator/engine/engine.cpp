/// What the engine knows, for the checker, the counter and the headers of kernels.
#include "kernels/emulator/engine/engine.hpp"

#include <fmt/format.h>

#include "kernels/emulator/engine/multiprocessor.hpp"
#include "kernels/emulator/language/math.hpp"
#include "rungs/base/error.hpp"

namespace rungs::emulator {

bool in_kernel() { return current_multiprocessor && current_multiprocessor->running; }
bool in_user_code() { return current_multiprocessor && current_multiprocessor->user_code; }
void set_user_code(bool yes) { current_multiprocessor->user_code = yes; }
int thread_index() { return current_multiprocessor->current; }
unsigned barrier_count() { return current_multiprocessor->barriers; }
bool has_waited() { return current_multiprocessor->threads[size_t(current_multiprocessor->current)].waited; }
std::string where() { return current_multiprocessor->place(current_multiprocessor->current); }
std::string thread_name(int index) { return "thread " + text_of(current_multiprocessor->threads[size_t(index)].index); }

bool on_own_stack(uintptr_t address) {
  const Multiprocessor& m = *current_multiprocessor;
  return m.threads[size_t(m.current)].fiber->contains(address);
}

bool on_any_stack(uintptr_t address) {
  for (const auto& fiber : current_multiprocessor->fibers)
    if (fiber->contains(address)) return true;
  return false;
}

bool in_arguments(uintptr_t address) {
  const Launch& launch = current_multiprocessor->plan->launch;
  return address - uintptr_t(launch.arguments) < launch.argument_bytes;
}

std::vector<SharedArray> shared_arrays() {
  std::vector<SharedArray> arrays;
  for (const auto& symbol : shared_symbols()) arrays.push_back({uintptr_t(address(symbol)), symbol.bytes, symbol.name});
  return arrays;
}

std::string function_name(uintptr_t address) { return name_of_function(address); }
bool in_static_object(uintptr_t address) { return in_variable(address); }

void fail(std::string fault) {
  if (in_kernel()) current_multiprocessor->fail(std::move(fault));
  throw CudaError(fault);
}

void fail_in_thread(int thread, std::string fault) {
  current_multiprocessor->current = thread;
  fail(std::move(fault));
}

/// Before a message is made in the middle of a kernel's code: what the standard library does for it is not the
/// kernel's.
static void leave_user_code() {
  if (current_multiprocessor) set_user_code(false);
}

void require_aligned(const void* address, size_t alignment, const char* operation) {
  if (uintptr_t(address) % alignment == 0) return;
  leave_user_code();
  fail(fmt::format("{}: address {} is no multiple of {} bytes", operation, address, alignment));
}

void require_multiple(size_t value, size_t of, const char* operation, const char* what) {
  if (value % of == 0) return;
  leave_user_code();
  fail(fmt::format("{}: {} {}, which is no multiple of {}", operation, value, what, of));
}

int lane_index() { return current_multiprocessor->current % 32; }

void trap() {
  leave_user_code();
  fail("__trap()");
}

}  // namespace rungs::emulator
