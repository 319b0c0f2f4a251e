// When all tests have run, each kernel of the program must have been launched by one of them: each instantiation of a
// template, too, since a launcher chooses between them by the sizes that it is given. RUNGS_EVERY_KERNEL names a file
// for the largest block of each, in threads and bytes of dynamic shared memory, from which gpu/resources.sh finds how
// many a multiprocessor holds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "kernels/emulator/engine/kernel_info.hpp"

namespace {

const struct EveryKernel {
  EveryKernel() { rungs::emulator::largest_blocks(); }  // what it asks later is made first, and so ends later
  ~EveryKernel() {
    const char* path = std::getenv("RUNGS_EVERY_KERNEL");
    if (!path) return;
    FILE* file = std::fopen(path, "w");
    bool every = file != nullptr;
    for (const auto& [kernel, threads, dry_threads, bytes] : rungs::emulator::largest_blocks()) {
      if (file) std::fprintf(file, "%u %zu %s\n", std::max(threads, dry_threads), bytes, kernel.c_str());
      if (threads == 0) std::printf("no test launched %s\n", kernel.c_str());
      every &= threads > 0;
    }
    if (!file) std::printf("%s cannot be written\n", path);
    if (file) std::fclose(file);
    std::fflush(stdout);
    if (!every) std::_Exit(1);
  }
} every_kernel;

}  // namespace
