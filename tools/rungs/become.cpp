#include "become.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "rungs/base/error.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

static fs::path path_of(const std::string& program) {
  return fs::read_symlink("/proc/self/exe").replace_filename(program);
}

static bool is_built_here(const fs::path& path) {
  return fs::exists(RUNGS_BINARY_DIR "/build.ninja") && path.parent_path() == RUNGS_BINARY_DIR "/bin";
}

void require_program(const std::string& program) {
  if (program.ends_with("_gpu") && is_built_here(path_of(program)) && !RUNGS_HAS_NVCC)
    throw UsageError(
        fmt::format("there is no {}, which is built where there is an nvcc of CUDA 12 or newer; with --on emulator the "
                    "same kernels run on the processor",
                    program));
}

void become(const std::string& program, char** argv) {
  require_program(program);
  const fs::path path = path_of(program);
  if (is_built_here(path)) must_build({program});
  execv(path.c_str(), argv);
  throw Error(fmt::format("{}: cannot be started: {}", path.string(), std::strerror(errno)));
}

}  // namespace rungs
