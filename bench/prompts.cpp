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

/// With neighbours where CpuOps takes another way to a product (small_batch_rows() of each processor and type), and
/// where a whole number of tiles ends.
constexpr int64_t sizes[] = {1,  2,  3,  4,  6,  8,  9,  11, 12, 13, 15, 16, 23, 24,  25,  31, 32,
                             33, 35, 36, 40, 41, 47, 48, 59, 60, 64, 65, 95, 96, 128, 256, 512};
constexpr int runs = 7;

struct Setup {
  CpuOps ops;
  std::unique_ptr<Model> model;
  std::unique_ptr<KvCache> of_one, of_many;  ///< of one sequence as long as the longest prompt; of many short ones
  Tensor logits;

  explicit Setup(const std::filesystem::path& path) {
    const int64_t most = *std::max_element(std::begin(sizes), std::end(sizes));
    model = load_model(ops, path, {.max_rows = most, .context = most});
    of_one = std::make_unique<KvCache>(ops, model->config(), 1, most);
    of_many = std::make_unique<KvCache>(ops, model->config(), most, 1);
    logits = ops.allocate({most, model->config().vocab_size});
  }
};

/// Seconds of one call of n rows.
double call(Setup& s, int64_t n, bool prompt) {
  Batch batch;
  const auto token = [&](int64_t i) { return int32_t(i * 7 % s.model->config().vocab_size); };
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

/// A line for each number of rows; their times, and what one row more costs at worst.
nlohmann::ordered_json calls_of(std::string_view label, const std::filesystem::path& path) {
  Setup s(path);
  nlohmann::ordered_json report;
  fmt::print("{:<6}{:>8}{:>14}{:>10}{:>14}{:>10}\n", label, "rows", "prompt, ms", "tokens/s", "batch, ms", "tokens/s");
  int64_t rows_before = 0;
  double prompt_before = 0, batch_before = 0, worst = 1;  // seconds; tokens a second relative to those of a row less
  std::string where;
  for (const int64_t n : sizes) {
    std::vector<double> prompts, batches;  // turn by turn, so that both meet the same machine
    for (int run = 0; run <= runs; ++run) {
      const double prompt = call(s, n, true), batch = call(s, n, false);
      if (run > 0) prompts.push_back(prompt), batches.push_back(batch);  // the first brings the weights into memory
    }
    const double prompt = median(prompts), batch = median(batches);
    fmt::print("{:<6}{:>8}{:>14.2f}{:>10.0f}{:>14.2f}{:>10.0f}\n", "", n, prompt * 1e3, double(n) / prompt, batch * 1e3,
               double(n) / batch);
    report.push_back({{"rows", n}, {"prompt_seconds", prompt}, {"batch_seconds", batch}});
    const double kept = double(n) / double(n - 1) * std::min(prompt_before / prompt, batch_before / batch);
    if (n == rows_before + 1 && n > 1 && kept < worst) worst = kept, where = fmt::format(" ({} to {})", n - 1, n);
    rows_before = n, prompt_before = prompt, batch_before = batch;
  }
  fmt::print("a row more: at worst {:.0f}% fewer tokens a second{}\n\n", 100 * (1 - worst), where);
  return report;
}

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark("prompts", "milliseconds of a call by the number of its rows, 1 to 512");
  std::filesystem::path model;
  benchmark.takes("MODEL", model, "whose calls; otherwise a 110M model with random weights, in f32 and bf16");
  benchmark.read(argc, argv);
  fmt::print("{}, {} threads\n{}; a call's tokens a second\n\n", machine(), omp_get_max_threads(),
             model.empty() ? "stories110M" : model.string());
  nlohmann::ordered_json report = {{"threads", omp_get_max_threads()}, {"runs", runs}};
  if (model.empty())
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Folder folder;
      save_random_llama(folder.path, *preset("stories110M"), dtype, 1);
      report[name_of(dtype)] = calls_of(name_of(dtype), folder.path);
    }
  else
    report["model"] = model.string(), report["calls"] = calls_of("", model);
  benchmark.write(report);
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "prompts: {}\n", e.what());
  return 1;
}
