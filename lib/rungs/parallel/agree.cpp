#include "rungs/parallel/agree.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rungs {

std::vector<Fact> facts_of(const LlamaCheckpoint& checkpoint) {
  const Config& c = checkpoint.config;
  const std::string shape =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", c.max_seq_len, c.hidden_size, c.num_heads, c.num_kv_heads,
                  c.head_dim, c.intermediate_size, c.num_layers, c.vocab_size, c.epsilon, c.tied, c.rope.theta,
                  int(c.rope.scaling), c.rope.factor);
  constexpr size_t first_bytes = 64;
  std::string tensors;
  for (const std::string& name : checkpoint.file.names()) {
    const Tensor& tensor = checkpoint.file.get(name);
    tensors += fmt::format("{} {} {} ", name, to_string(tensor.shape()), name_of(tensor.dtype()));
    tensors.append(static_cast<const char*>(tensor.raw()), std::min(tensor.bytes(), first_bytes));
  }
  return {{"a model of another shape", hash_of(shape)}, {"other weights", hash_of(tensors)}};
}

void agree(Communicator& ranks, const std::vector<Fact>& facts) {
  std::vector<uint64_t> mine, all(facts.size() * size_t(ranks.ranks()));
  for (const Fact& fact : facts) mine.push_back(fact.hash);
  ranks.all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(mine)));
  for (size_t i = 0; i < facts.size(); ++i)
    for (int rank = 1; rank < ranks.ranks(); ++rank)
      if (all[size_t(rank) * facts.size() + i] != all[i])
        throw UsageError(
            fmt::format("rank {} has {} than rank 0: wanted the same program, files and options on every "
                        "rank",
                        rank, facts[i].what));
}

}  // namespace rungs
