#include "kernels/emulator/engine/signals.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/engine/multiprocessor.hpp"
#include "rungs/base/error.hpp"

namespace rungs::emulator {
namespace {

/// A timer of an OS thread's processor time, so that neither a loaded machine nor an hour in the debugger ends a
/// kernel. SIGVTALRM, because that is what it stands for; debuggers let it pass in silence.
class Watch {
 public:
  Watch() {
    stack_t stack{};
    stack.ss_sp = signal_stack_;
    stack.ss_size = sizeof signal_stack_;
    sigaltstack(&stack, nullptr);  // a kernel that has used up its stack leaves none for a handler
  }
  ~Watch() {
    if (process_ == getpid() && exists_) timer_delete(timer_);
    const stack_t none{nullptr, SS_DISABLE, 0};
    sigaltstack(&none, nullptr);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void set_limit(double seconds) {
    if (seconds == limit && process_ == getpid()) return;
    if (process_ != getpid()) make_timer();
    limit = seconds;
    arm(seconds / 4);
  }
  /// A signal every so many seconds.
  void arm(double seconds) {
    const auto whole = time_t(seconds);
    const timespec period{whole, long((seconds - double(whole)) * 1e9) + 1};
    const itimerspec times{period, period};
    if (exists_) timer_settime(timer_, 0, &times, nullptr);
  }

  double limit = 0;    // seconds
  uint64_t block = 0;  // that the last tick saw
  int ticks = 0;       // that saw this block

 private:
  void make_timer() {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGVTALRM;
    event._sigev_un._tid = pid_t(syscall(SYS_gettid));
    exists_ = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0;
    process_ = getpid();
  }

  timer_t timer_{};
  bool exists_ = false;
  pid_t process_ = 0;  // a fork does not inherit the timer
  alignas(16) char signal_stack_[32 << 10];
};

constinit thread_local Watch* watch = nullptr;  // of this OS thread
constinit thread_local siginfo_t fault{};       // what on_fault was told

/// The interrupted thread goes on in `function`, which must not return. Its stack is not needed any more.
void go_on_in(void (*function)(), void* context) {
  Multiprocessor& m = *current_multiprocessor;
  Fiber& fiber = *m.threads[size_t(m.current)].fiber;
  fiber.restart();
  const uintptr_t stack = (uintptr_t(fiber.top()) - 8192) & ~uintptr_t(15);
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  registers.gregs[REG_RSP] = greg_t(stack - 8);  // as if a return address had been pushed
  registers.gregs[REG_RIP] = greg_t(function);
#else
  registers.sp = stack;
  registers.pc = uintptr_t(function);
#endif
}

uintptr_t program_counter(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return uintptr_t(registers.gregs[REG_RIP]);
#else
  return registers.pc;
#endif
}

void fail_for_time() {
  watch->arm(watch->limit / 4);
  fail(fmt::format(
      "the block has run for {:g} s, the limit; does a loop never end? RUNGS_KERNEL_SECONDS changes the limit",
      watch->limit));
}

void fail_for_fault() {
  const Multiprocessor& m = *current_multiprocessor;
  const auto address = uintptr_t(fault.si_addr);
  const void* pointer = fault.si_addr;
  if (fault.si_signo == SIGFPE) fail("an integer is divided by zero");
  if (m.threads[size_t(m.current)].fiber->overflowed_at(address))
    fail("the thread's stack is used up: it has 64 KB for its local arrays and calls");
  if (fault.si_code == SI_KERNEL)  // x86 does not say which address it was
    fail("a misaligned vector access, such as a float4 that is no multiple of 16 bytes into memory, or a wild address");
  if (fault.si_signo == SIGBUS) fail(fmt::format("a misaligned access at {}", pointer));
  fail(fmt::format("an access to {}, which is {}; the checked build says where", pointer,
                   address < 65536 ? "a null pointer or near it" : "no memory of this process"));
}

/// In a signal handler.
void print_error(std::initializer_list<const char*> parts) {
  for (const char* part : parts) [[maybe_unused]] const auto n = write(STDERR_FILENO, part, std::strlen(part));
}

[[maybe_unused]] void on_fault(int signal, siginfo_t* info, void* context) {
  if (in_user_code()) {
    fault = *info;
    go_on_in(fail_for_fault, context);
  } else {
    if (in_device_memory(uintptr_t(info->si_addr)))
      print_error({"The host's code touches device memory, which it cannot reach: cudaMemcpy copies it.\n"});
    std::signal(signal, SIG_DFL);  // not a kernel's: the access is tried again, and ends the program
  }
}

[[noreturn]] void end_program() {
  const std::string& kernel = current_multiprocessor->plan->kernel;
  print_error(
      {"kernel ", kernel.c_str(),
       " has run for longer than RUNGS_KERNEL_SECONDS, inside of a function that cannot be left: the program ends\n"});
  _exit(1);
}

/// Five ticks that see the same block are at least the limit.
void on_tick(int, siginfo_t*, void* context) {
  constexpr int too_many = 5, tries = 250;
  const Multiprocessor* m = current_multiprocessor;
  if (!watch || !m || !m->running || m->blocks != watch->block) {
    if (watch) watch->ticks = 0;
    if (watch && m) watch->block = m->blocks;
    return;
  }
  if (++watch->ticks < too_many) return;
  // The engine and the C library may hold locks, which would stay locked. The kernel's own code holds none.
  if (m->user_code && in_program_code(program_counter(context))) {
    watch->ticks = 0;
    go_on_in(fail_for_time, context);
  } else if (watch->ticks < too_many + tries) {
    watch->arm(0.001);
  } else {
    end_program();
  }
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

double seconds_allowed() {
  const char* text = std::getenv("RUNGS_KERNEL_SECONDS");
  if (!text || !*text) return 20;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end || !(seconds > 0) || seconds > 1e6)
    throw CudaError(fmt::format("RUNGS_KERNEL_SECONDS is '{}': it can be a number of seconds above 0", text));
  return seconds;
}

void take_fault_signals() {
#ifndef RUNGS_ASAN  // which explains a bad address better
  // Every time, for test frameworks take these signals as well.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE}) handle(signal, on_fault);
#endif
}

void watch_time(double seconds) {
  if (!watch) {
    static thread_local Watch mine;
    watch = &mine;
    handle(SIGVTALRM, on_tick);
  }
  watch->set_limit(seconds);
}

}  // namespace rungs::emulator
