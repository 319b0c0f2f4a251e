#include "kernels/emulator/engine/device.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "rungs/base/error.hpp"

namespace rungs::emulator {

static constexpr int KiB = 1 << 10, MiB = 1 << 20;

// RTX 4090, 5090: with 99 KiB a kernel that was tuned for a server's GPU may not start. The last two columns, of tensor
// cores, were found by measuring on each architecture: see engine/tensor_core.cpp.
static constexpr Device devices[] = {
    {"a100", 8, 0, 108, 2048, 163 * KiB, 164 * KiB, 64 * KiB, 64 * KiB, 40 * MiB, 8, 24},
    {"rtx4090", 8, 9, 128, 1536, 99 * KiB, 100 * KiB, 64 * KiB, 64 * KiB, 72 * MiB, 8, 24},
    {"rtx5090", 12, 0, 170, 1536, 99 * KiB, 100 * KiB, 64 * KiB, 64 * KiB, 96 * MiB, 16, 25},
    {"h100", 9, 0, 132, 2048, 227 * KiB, 228 * KiB, 64 * KiB, 64 * KiB, 50 * MiB, 16, 25},
    {"h200", 9, 0, 132, 2048, 227 * KiB, 228 * KiB, 64 * KiB, 64 * KiB, 50 * MiB, 16, 25},
    {"b200", 10, 0, 148, 2048, 227 * KiB, 228 * KiB, 64 * KiB, 64 * KiB, 126 * MiB, 16, 25},
};

static const Device& named(const char* name) {
  std::string known;
  for (const Device& d : devices) {
    if (!name || std::string(name) == d.name) return d;
    known += std::string(known.empty() ? "" : ", ") + d.name;
  }
  throw CudaError(fmt::format("RUNGS_DEVICE is '{}': it can be {}", name, known));
}

const Device& device() {
  static const Device& one = named(std::getenv("RUNGS_DEVICE"));
  return one;
}

}  // namespace rungs::emulator
