/// Ranks compare what they were started with before they compute.
#pragma once

#include <vector>

#include "rungs/base/hash.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// Something that every rank must have alike.
struct Fact {
  const char* what;  ///< as it stands in the sentence: "another config.json"
  uint64_t hash;
};

/// Of an open checkpoint: its shape; then names, shapes and dtypes of its tensors with the first bytes of each, which
/// tell two trainings of one shape apart.
std::vector<Fact> facts_of(const LlamaCheckpoint& checkpoint);

/// Every rank calls it with the same list. \throws UsageError on all of them for the first fact that a rank has
/// otherwise than rank 0; RankLost
void agree(Communicator& ranks, const std::vector<Fact>& facts);

}  // namespace rungs
