#include "become.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "rungs/base/error.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

void become(const std::string& program, char** argv) {
  const fs::path path = fs::read_symlink("/proc/self/exe").replace_filename(program);
  const bool built_here = fs::exists(RUNGS_BINARY_DIR "/build.ninja") && path.parent_path() == RUNGS_BINARY_DIR "/bin";
  if (program == "rungs_gpu" && built_here && !RUNGS_HAS_NVCC)
    throw UsageError(
        "there is no rungs_gpu, which is built where there is an nvcc of CUDA 12 or newer; with --on emulator the same "
        "kernels run on the processor");
  if (built_here) must_build({program});
  execv(path.c_str(), argv);
  throw Error(fmt::format("{}: cannot be started: {}", path.string(), std::strerror(errno)));
}

}  // namespace rungs
