/// The tokens of one call: just rows, whatever sequence they belong to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rungs {

/// Row n is token[n] of sequence[n] at position[n]. Rows of one sequence stand in the order of their positions.
struct Batch {
  std::vector<int32_t> token, sequence, position;
  std::vector<int32_t> logit_rows;  ///< rows whose logits the caller wants, in this order

  /// Appends tokens of a sequence, the first at position `start`; wants the logits of all of them, or of the last.
  void add(int32_t of_sequence, std::span<const int32_t> tokens, int64_t start, bool only_last);
  void clear();
  int64_t rows() const { return int64_t(token.size()); }
};

}  // namespace rungs
