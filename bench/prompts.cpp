// How long a call takes by the number of its rows: a prompt of one sequence, or a step of so many sequences. Nobody
// should wait longer for each token because there is one more.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "benchmark.hpp"
#include "folder.hpp"
#include "rungs/model/model.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;

namespace {

constexpr int64_t sizes[] = {1,  2,  3,  4,  6,  8,  9,  12, 13, 15,  16,  24,
                             25, 31, 32, 33, 40, 41, 48, 64, 65, 128, 256, 512};
constexpr int runs = 7;

struct Setup {
  Config config;
  CpuOps ops;
  std::unique_ptr<Model> model;
  std::unique_ptr<KvCache> of_one, of_many;  ///< of one sequence as long as the longest prompt; of many short ones
  Tensor logits;
};

/// Seconds of one call of n rows.
double call(Setup& s, int64_t n, bool prompt) {
  Batch batch;
  const auto token = [&](int64_t i) { return int32_t(i * 7 % s.config.vocab_size); };
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < n; ++i) tokens.push_back(token(i));
  if (prompt)
    batch.add(0, tokens, 0, /*only_last=*/true);
  else
    for (int64_t i = 0; i < n; ++i) batch.add(int32_t(i), std::span(tokens).subspan(size_t(i), 1), 0, true);
  Tensor logits = s.logits.view_rows(0, prompt ? 1 : n);
  const double start = now();
  s.model->forward(logits, batch, (prompt ? s.of_one : s.of_many).get());
  return now() - start;
}

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark("prompts", "milliseconds of a call by the number of its rows, 1 to 512");
  benchmark.read(argc, argv);
  fmt::print("{}, {} threads\nstories110M; a call's tokens a second\n\n", machine(), omp_get_max_threads());
  nlohmann::ordered_json report = {{"threads", omp_get_max_threads()}, {"runs", runs}};
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Setup s;
    s.config = *preset("stories110M");
    const Folder folder;
    save_random_llama(folder.path, s.config, dtype, 1);
    const int64_t most = *std::max_element(std::begin(sizes), std::end(sizes));
    s.model = load_model(s.ops, folder.path, {.max_rows = most});
    s.of_one = std::make_unique<KvCache>(s.ops, s.config, 1, most);
    s.of_many = std::make_unique<KvCache>(s.ops, s.config, most, 1);
    s.logits = s.ops.allocate({most, s.config.vocab_size});
    fmt::print("{:<6}{:>8}{:>14}{:>10}{:>14}{:>10}\n", name_of(dtype), "rows", "prompt, ms", "tokens/s", "batch, ms",
               "tokens/s");
    for (const int64_t n : sizes) {
      std::vector<double> prompts, batches;  // turn by turn, so that both meet the same machine
      for (int run = 0; run <= runs; ++run) {
        const double prompt = call(s, n, true), batch = call(s, n, false);
        if (run > 0) prompts.push_back(prompt), batches.push_back(batch);  // the first brings the weights into memory
      }
      const double prompt = median(prompts), batch = median(batches);
      fmt::print("{:<6}{:>8}{:>14.2f}{:>10.0f}{:>14.2f}{:>10.0f}\n", "", n, prompt * 1e3, double(n) / prompt,
                 batch * 1e3, double(n) / batch);
      report[name_of(dtype)].push_back({{"rows", n}, {"prompt_seconds", prompt}, {"batch_seconds", batch}});
    }
    fmt::print("\n");
  }
  benchmark.write(report);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "prompts: {}\n", e.what());
  return 1;
}
