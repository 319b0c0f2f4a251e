// Lesson 25: the same requests in static batches, and in batches that change at every step; and a shared beginning.
#include <fmt/format.h>

#include <random>
#include <string>

#include "drive.hpp"

using namespace lesson_25;

constexpr int64_t block_size = 8, cache_blocks = 18, budget = 12, slots = 4;

/// Ten requests; prompts and answers of very different lengths.
static std::vector<Arrival> make_trace() {
  std::mt19937 random(25);
  std::vector<Arrival> trace;
  for (int64_t i = 0; i < 10; ++i)
    trace.push_back({i / 3 * 4, 2 + int64_t(random() % 24), 2 + int64_t(random() % (i % 3 ? 8 : 30))});
  return trace;
}

/// Static batches of four: prompts padded to the longest, and all rows go on until the longest answer is done.
static void run_static(const std::vector<Arrival>& trace, int64_t useful) {
  int64_t steps = 0, rows = 0;
  for (size_t first = 0; first < trace.size(); first += slots) {
    const size_t last = std::min(first + slots, trace.size());
    int64_t prompt = 0, answer = 0;
    for (size_t i = first; i < last; ++i) {
      prompt = std::max(prompt, trace[i].prompt), answer = std::max(answer, trace[i].answer);
      steps = std::max(steps, trace[i].step);  // the batch begins when its last request is there
    }
    steps += answer;
    rows += int64_t(last - first) * (prompt + answer - 1);
  }
  fmt::print("{:<12}{:>6}{:>8}{:>8}{:>8}\n", "static", steps, rows, useful, rows - useful);
}

/// Six requests that begin with the same 20 tokens, as with one system prompt; each with and without prefix caching.
static void run_shared() {
  std::mt19937 random(7);
  std::vector<Arrival> trace;
  std::vector<std::vector<int32_t>> texts;
  const std::vector<int32_t> system(20, 5);
  for (int64_t i = 0; i < 6; ++i) {
    trace.push_back({i ? 3 : 0, 22 + i, 4});
    texts.push_back(system);
    while (int64_t(texts.back().size()) < 26 + i) texts.back().push_back(int32_t(random() % 30));
  }
  fmt::print("\nSix requests that begin with the same 20 tokens\n\n{:<16}{:>6}{:>8}{:>14}\n", "", "steps", "rows",
             "blocks held");
  for (const bool shares : {false, true}) {
    int64_t steps = 0, rows = 0, held = 0;
    Blocks blocks{std::vector<int32_t>(40)};
    const auto make_plan = [&](std::vector<Request>& requests, Blocks& now, int64_t size, int64_t most) {
      return shares ? plan_sharing(requests, now, size, most, texts, plan, block_hashes, share_prefix)
                    : plan(requests, now, size, most);
    };
    drive(trace, blocks, block_size, 200, 1000, make_plan, release,
          [&](int64_t step, const std::vector<Piece>& pieces, const std::vector<Request>&, const Blocks& now) {
            steps = step + 1;
            for (const Piece& p : pieces) rows += p.count;
            held = std::max(held, 40 - int64_t(std::count(now.holders.begin(), now.holders.end(), 0)));
          });
    fmt::print("{:<16}{:>6}{:>8}{:>14}\n", shares ? "blocks shared" : "nothing shared", steps, rows, held);
  }
}

int main() {
  const std::vector<Arrival> trace = make_trace();
  int64_t useful = 0;  // rows that each request needs alone
  for (const Arrival& a : trace) useful += a.prompt + a.answer - 1;

  int64_t steps = 0, rows = 0, fewest_free = cache_blocks;
  std::vector<std::string> lines(trace.size());
  Blocks blocks{std::vector<int32_t>(cache_blocks)};
  drive(trace, blocks, block_size, budget, 1000, plan, release,
        [&](int64_t step, const std::vector<Piece>& pieces, const std::vector<Request>& requests, const Blocks& now) {
          steps = step + 1;
          fewest_free = std::min(fewest_free, int64_t(std::count(now.holders.begin(), now.holders.end(), 0)));
          for (const Request& r : requests) {
            std::string& line = lines[size_t(r.id)];
            line.resize(size_t(step), ' ');
            const bool ran = step > 0 && std::string("#@.").find(line.back()) != std::string::npos;
            line += ran && r.table.empty() ? 'x' : '-';
          }
          for (const Piece& p : pieces) {
            const Request& r = requests[size_t(p.request)];
            lines[size_t(r.id)].back() = p.start + p.count < r.tokens ? '#' : p.count > 1 ? '@' : '.';
            rows += p.count;
          }
        });

  fmt::print("Ten requests, at most {} rows a step, {} blocks of {} tokens\n\n", budget, cache_blocks, block_size);
  fmt::print("{:<12}{:>6}{:>8}{:>8}{:>8}\n", "batches", "steps", "rows", "useful", "wasted");
  run_static(trace, useful);
  fmt::print("{:<12}{:>6}{:>8}{:>8}{:>8}\n", "continuous", steps, rows, useful, rows - useful);
  fmt::print("\nFewest free blocks: {}. All are free at the end: {}.\n", fewest_free,
             std::count(blocks.holders.begin(), blocks.holders.end(), 0) == cache_blocks ? "yes" : "no");

  fmt::print(
      "\nContinuous batches: a column is a step. # a chunk of a prompt, @ its last chunk, . a token, - it waits, "
      "x preempted\n\n");
  for (size_t i = 0; i < trace.size(); ++i)
    fmt::print("{:>2}  in {:>2}  out {:>2}  {}\n", i, trace[i].prompt, trace[i].answer, lines[i]);
  run_shared();
}
