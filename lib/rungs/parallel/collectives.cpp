#include "rungs/parallel/collectives.hpp"

#include <algorithm>

namespace rungs {

namespace {

/// Memory of the host that stands for a tensor of a GPU, kept from call to call.
struct OnHost {
  std::vector<float> memory = {};

  std::span<float> room(const Tensor& x) {
    memory.resize(std::max(memory.size(), size_t(x.count())));
    return std::span(memory).first(size_t(x.count()));
  }
};

bool is_on_host(const Tensor& x) { return x.place() == Place::host; }
std::span<float> floats(Tensor& x) { return {x.data(), size_t(x.count())}; }
std::span<const float> floats(const Tensor& x) { return {x.data(), size_t(x.count())}; }

}  // namespace

Collectives through_host(Device& device, Communicator& ranks) {
  auto all_reduce = [&device, &ranks, host = OnHost()](Tensor& x) mutable {
    if (is_on_host(x)) return ranks.all_reduce(floats(x));
    const std::span<float> sum = host.room(x);
    device.download(sum.data(), x);
    ranks.all_reduce(sum);
    device.upload(x, sum.data());
  };
  auto all_gather = [&device, &ranks, host_all = OnHost(), host_mine = OnHost()](Tensor& all,
                                                                                 const Tensor& mine) mutable {
    if (is_on_host(all)) return ranks.all_gather(floats(all), floats(mine));
    const std::span<float> gathered = host_all.room(all), part = host_mine.room(mine);
    device.download(part.data(), mine);
    ranks.all_gather(gathered, part);
    device.upload(all, gathered.data());
  };
  return {ranks.rank(), ranks.ranks(), std::move(all_reduce), std::move(all_gather), [] {}};
}

}  // namespace rungs
