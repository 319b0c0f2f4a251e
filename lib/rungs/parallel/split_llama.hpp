/// What each rank has of a LLaMA's weights. Shoeybi and others 2019, "Megatron-LM: Training Multi-Billion Parameter
/// Language Models Using Model Parallelism", section 3.
#pragma once

#include "rungs/model/llama.hpp"
#include "rungs/parallel/communicator.hpp"

namespace rungs {

/// \throws UsageError for a number of ranks that the heads cannot be dealt out to, with the numbers that they can.
void check_ranks(const Config& config, int ranks);

/// The shape of one rank's share: its query heads H / ranks and key/value heads, its part of F. The vocabulary stays
/// whole, as logits do. \throws UsageError as check_ranks
Config config_of_rank(const Config& config, int rank, int ranks);

/// The key/value heads of a rank; where there are fewer than ranks, one that its neighbours have, too.
Part kv_heads_of(const Config& config, int rank, int ranks);

/// Leaves of an open checkpoint what one rank needs:
///   q, k, v        rows of its heads                        (H·D / ranks, C), (G·D / ranks, C)
///   gate, up       its rows                                 (F / ranks, C)
///   o, down        its columns                              (C, H·D / ranks), (C, F / ranks)
///   embedding and output  its rows, its part of the vocabulary  (V / ranks, C)
///   norms          whole
/// Rows stay views of the mapped file; columns are copied, and so are rows of tensors that are not the file's own
/// bytes. Of the files nothing else stays mapped. Quantized columns part at the ends of blocks. \throws UsageError as
/// check_ranks, and where a part would be empty or part a block.
void split(LlamaCheckpoint& checkpoint, int rank, int ranks);

/// Bytes of all weights; with tied ones the table counts once.
int64_t weight_bytes(const LlamaWeights& weights);

}  // namespace rungs
