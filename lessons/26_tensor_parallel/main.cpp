// Lesson 26: the story LLaMA on 1, 2 and 6 ranks: who has what, whether they agree, and what they send.
#include <fmt/format.h>

#include <cmath>

#include "rungs/analysis/memory.hpp"
#include "story_on_ranks.hpp"

using namespace rungs;
using namespace lesson_26;

static std::string run_of(Part part) {
  return part.count == 1 ? fmt::format("{}", part.first)
                         : fmt::format("{}-{}", part.first, part.first + part.count - 1);
}

static void print_shares(const Config& c, int ranks) {
  fmt::print("\n{} ranks\n{:<6}{:>13}{:>13}{:>15}{:>16}\n", ranks, "", "query heads", "kv heads", "inner units",
             "words");
  for (int rank = 0; rank < ranks; ++rank)
    fmt::print("rank {}{:>13}{:>13}{:>15}{:>16}\n", rank, run_of(share_of(c.num_heads, rank, ranks)),
               run_of(kv_share_of(c.num_kv_heads, rank, ranks)), run_of(part_of(c.intermediate_size, rank, ranks)),
               run_of(part_of(c.vocab_size, rank, ranks)));
}

/// Whether a number of ranks is refused, and how.
static std::string refusal(const Config& c, int ranks) {
  try {
    share_of(c.num_heads, 0, ranks), kv_share_of(c.num_kv_heads, 0, ranks);
    share_of(c.intermediate_size, 0, ranks), share_of(c.vocab_size, 0, ranks);
  } catch (const ShapeError&) {
    return "no";
  }
  return "yes";
}

static int64_t best(const Tensor& logits, int64_t n) {
  const float* row = logits.data() + n * logits.dim(1);
  return std::max_element(row, row + logits.dim(1)) - row;
}

int main() {
  const LlamaCheckpoint stories(weights_directory() / "stories");
  const Config& c = stories.config;
  fmt::print("The story LLaMA: {} query heads, {} key/value heads, F {}, V {}\nnumbers of ranks that share it evenly:",
             c.num_heads, c.num_kv_heads, c.intermediate_size, c.vocab_size);
  for (int ranks = 1; ranks <= 8; ++ranks) fmt::print("  {} {}", ranks, refusal(c, ranks));
  fmt::print("\n");
  print_shares(c, 2);

  const int64_t N = 16;
  Tensor tokens({N}, DType::i32);
  for (int64_t n = 0; n < N; ++n) tokens.at<int32_t>(n) = int32_t((n * 211 + 5) % c.vocab_size);
  const Told one = tell(stories, tokens, 1);
  fmt::print("\nA call of {} tokens\n{:<6}{:>12}{:>15}{:>12}{:>13}{:>12}{:>12}{:>12}\n", N, "ranks", "parameters",
             "lesson 22 says", "all-reduce", "all-gather", "bytes sent", "predicted", "best token");
  for (const int ranks : {1, 2}) {
    const Told told = tell(stories, tokens, ranks);
    int64_t same = 0;
    double difference = 0;
    for (int64_t n = 0; n < N; ++n) same += best(told.logits, n) == best(one.logits, n);
    for (int64_t i = 0; i < one.logits.count(); ++i)
      difference = std::max(difference, std::fabs(double(told.logits.flat(i)) - one.logits.flat(i)));
    fmt::print("{:<6}{:>12}{:>15}{:>12}{:>13}{:>12}{:>12}{:>12}\n", ranks, told.parameters,
               share_of_gpu(c, 1, ranks).parameters, told.all_reduces, told.all_gathers, told.bytes_sent,
               bytes_sent(c.num_layers, N, c.hidden_size, c.vocab_size, ranks), fmt::format("{} of {}", same, N));
    fmt::print("      all ranks have the same bits: {}; beside one rank, logits differ by less than 0.001: {}\n",
               told.alike ? "yes" : "no", difference < 1e-3 ? "yes" : "no");
  }
}
