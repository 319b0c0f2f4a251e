#include "rungs/generate/capacity_plan.hpp"

namespace rungs {

LoadOptions plan_load(std::span<const int64_t> lengths, const GenerateOptions& options, int64_t context) {
  constexpr int64_t enough = 512;  // more rows make a prefill no faster
  const auto B = int64_t(lengths.size());
  int64_t fed = 0, longest_fed = 0, longest = 0;
  for (const int64_t tokens : lengths) {
    const int64_t length = std::min(tokens, context), end = length + std::min(options.max_tokens, context - length);
    const int64_t rows = options.cache ? length : end;
    fed += rows;
    longest_fed = std::max(longest_fed, rows);
    longest = std::max(longest, end);
  }
  LoadOptions plan{.context = options.context ? options.context : longest};
  plan.max_rows = options.cache ? std::max(B, std::min(fed, enough)) : std::max(longest_fed, std::min(fed, 4 * enough));
  if (options.cache) plan.sequences = B, plan.capacity = longest;
  return plan;
}

}  // namespace rungs
