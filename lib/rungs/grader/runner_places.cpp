// The runner process's half of places.hpp. It stands in front of the C++ runtime's throw, and so is part of runner
// programs alone.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "rungs/grader/places.hpp"

namespace rungs {
namespace {

constexpr int most = 24;  // calls
thread_local std::array<void*, most> calls;
thread_local int number_of_calls = 0;
uintptr_t program_begin = 0;  // how far the program lies in memory from the addresses in its file

/// "1a2b 3c4d" into `text`, without help of the library: a crash may have left that in any state.
size_t write_calls(void* const* pointers, int n, char* text) {
  size_t length = 0;
  for (int i = 0; i < n; ++i) {
    const uintptr_t offset = uintptr_t(pointers[i]) - program_begin - 1;  // in the call, not behind it
    if (offset > UINT32_MAX) continue;                                    // a shared library's
    for (int shift = 28; shift >= 0; shift -= 4) text[length++] = "0123456789abcdef"[offset >> shift & 15];
    text[length++] = ' ';
  }
  return length;
}

#if !defined(__SANITIZE_ADDRESS__)  // which says more of a crash
void on_crash(int) {
  std::array<void*, most> pointers;
  std::array<char, 9 * most + 1> text;
  text[0] = calls_follow;
  const size_t length = 1 + write_calls(pointers.data(), backtrace(pointers.data(), most), text.data() + 1);
  [[maybe_unused]] const auto n = write(STDERR_FILENO, text.data(), length);
}
#endif

}  // namespace

void note_calls() {
  dl_iterate_phdr(
      [](dl_phdr_info* program, size_t, void*) {
        program_begin = program->dlpi_addr;
        return 1;  // the first is the program itself
      },
      nullptr);
  std::array<void*, 1> first;
  backtrace(first.data(), 1);  // loads what it needs, which a signal handler must not
#if !defined(__SANITIZE_ADDRESS__)
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_RESETHAND | SA_NODEFER;  // then it happens again, and ends the process
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
#endif
}

void forget_calls() { number_of_calls = 0; }

std::string calls_of_last_throw() {
  std::array<char, 9 * most> text;
  return std::string(text.data(), write_calls(calls.data(), number_of_calls, text.data()));
}

}  // namespace rungs

/// As the compiler declares it where it meets the first throw. Weak, since a C++ runtime that is linked into the
/// program has its own: then places of exceptions are not known.
extern "C" __attribute__((weak)) void __cxa_throw(void* thrown, void* type, void (*destroy)(void*)) {
  using Throw = void (*)(void*, void*, void (*)(void*));
  static const auto throws = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
  rungs::number_of_calls = backtrace(rungs::calls.data(), rungs::most);
  throws(thrown, type, destroy);
  __builtin_unreachable();
}
