#include "kernels/backend/gpu_of_rank.hpp"

#include <fstream>

#include "kernels/device.hpp"
#include "kernels/launch.cuh"
#include "rungs/parallel/agree.hpp"

namespace rungs {

void use_gpu_of_rank(int rank_here) {
  require_cuda_device();
  int devices = 1;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  CUDA_CHECK(cudaSetDevice(rank_here % devices));
}

/// The machine by the number that Linux draws when it starts, which its containers share, and the GPU by its place on
/// the PCI bus, which parts of one GPU (MIG) share: NCCL refuses those, too.
static uint64_t hash_of_gpu() {
  std::string machine;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), machine);
  int device = 0;
  char place[32] = {};
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetPCIBusId(place, sizeof place, device));
  return hash_of(machine + place);
}

std::optional<std::pair<int, int>> ranks_of_one_gpu(Communicator& ranks) {
  const uint64_t mine[] = {hash_of_gpu()};
  std::vector<uint64_t> all(size_t(ranks.ranks()));
  ranks.all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(mine)));
  for (size_t b = 1; b < all.size(); ++b)
    for (size_t a = 0; a < b; ++a)
      if (all[a] == all[b]) return std::pair(int(a), int(b));
  return {};
}

}  // namespace rungs
