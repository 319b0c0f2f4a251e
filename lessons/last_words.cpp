// What a lesson's program says when an exception leaves main: what was printed so far, its sentence, and status 1.
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

[[noreturn]] void say_and_end() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "it ends with an error: %s\n", e.what());
    std::_Exit(1);
  } catch (...) {
  }
  std::abort();
}

[[maybe_unused]] const std::terminate_handler before = std::set_terminate(say_and_end);

}  // namespace
