// rungs bench paged: decoding with a paged KV cache beside decoding with a contiguous one.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "bench_parts.hpp"
#include "rungs/base/json.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/model/model.hpp"
#include "rungs/ops/cpu_ops.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

/// One decode step of a batch, behind the same keys and values in both caches.
struct PagedTask {
  int64_t batch, past;
  std::vector<double> contiguous, paged, ratios;  // seconds of the fastest call of each round; contiguous / paged
};

/// The same keys and values in blocks, which lie in memory in a random order, as after some hours of serving.
KvCache in_blocks(CpuOps& ops, const Config& config, const KvCache& whole, int64_t block_size) {
  const int64_t sequences = whole.sequences(), each = (whole.capacity() + block_size - 1) / block_size;
  KvCache paged(ops, config, sequences, {sequences * each, block_size}, whole.layers[0].k.dtype());
  std::vector<int32_t> order(size_t(paged.blocks()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = int32_t(i);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (auto& table : paged.tables)
    for (int64_t i = 0; i < each; ++i) table.push_back(order.back()), order.pop_back();

  const auto copy_rows = [&](Tensor& to, const Tensor& from) {  // (blocks, block_size, ...), (sequences, capacity, ...)
    for (int64_t s = 0; s < sequences; ++s)
      for (int64_t i = 0; i < each; ++i) {
        const int64_t first = i * block_size, rows = std::min(block_size, whole.capacity() - first);
        const ConstTensor source = from[s].view_rows(first, rows);
        std::memcpy(to[paged.tables[size_t(s)][size_t(i)]].raw(), source.raw(), source.bytes());
      }
  };
  for (size_t l = 0; l < whole.layers.size(); ++l) {
    copy_rows(paged.layers[l].k, whole.layers[l].k);
    copy_rows(paged.layers[l].v, whole.layers[l].v);
  }
  return paged;
}

/// Seconds of the fastest call that ends within a tenth of a second: the one that other programs disturbed least, which
/// counts more between two caches than how often they are disturbed.
double fastest(const std::function<void()>& call) {
  double least = 1e9;
  for (const double begin = now(); now() - begin < 0.1;) {
    const double before = now();
    call();
    least = std::min(least, now() - before);
  }
  return least;
}

/// A model with both caches, and the calls that are measured.
class PagedBench {
 public:
  PagedBench(const BenchPagedCommand& command, const Config& config, int64_t past, int64_t sequences)
      : model_(load_model(ops_, command.model, {.max_rows = sequences})),
        contiguous_(filled_cache(ops_, config, sequences, past + 1, command.cache_dtype)),
        paged_(in_blocks(ops_, config, contiguous_, command.block_size)),
        logits_{ops_.allocate({sequences, config.vocab_size}), ops_.allocate({sequences, config.vocab_size})} {}

  /// One round: each cache has its turn, the first of which changes from round to round.
  void measure_round(PagedTask& task, int64_t round) {
    Batch batch;
    for (int64_t i = 0; i < task.batch; ++i) batch.add(int32_t(i), std::vector{int32_t(i)}, task.past, true);
    const bool paged_first = round % 2 != 0;
    double seconds[2];
    for (const bool paged : {paged_first, !paged_first}) {
      Tensor logits = logits_[paged].view_rows(0, task.batch);
      KvCache& cache = paged ? paged_ : contiguous_;
      model_->forward(logits, batch, &cache);  // brings this cache near
      seconds[paged] = fastest([&] { model_->forward(logits, batch, &cache); });
    }
    if (std::memcmp(logits_[0].raw(), logits_[1].raw(), size_t(task.batch * logits_[0].cols()) * sizeof(float)) != 0)
      throw Error("the logits with a paged cache differ from those with a contiguous one: what was measured is wrong");
    task.contiguous.push_back(seconds[0]), task.paged.push_back(seconds[1]);
    task.ratios.push_back(seconds[0] / seconds[1]);
  }

 private:
  CpuOps ops_;
  std::unique_ptr<Model> model_;
  KvCache contiguous_, paged_;
  Tensor logits_[2];  // with the contiguous cache, with the paged one
};

void check(const BenchPagedCommand& command, const Config& config) {
  const auto need = [](const char* option, bool good, const std::string& wanted, auto found) {
    if (!good) throw UsageError(fmt::format("{}: wanted {}, found {}", option, wanted, found));
  };
  for (const int64_t batch : command.batches) need("--batch", batch >= 1 && batch <= 256, "1 to 256", batch);
  for (const int64_t past : command.past)
    need("--past", past >= 0 && past < config.max_seq_len, fmt::format("0 to {}", config.max_seq_len - 1), past);
  need("--block-size", command.block_size >= 1 && command.block_size <= 4096, "1 to 4096", command.block_size);
  need("--rounds", command.rounds >= 1 && command.rounds <= 1000, "1 to 1000", command.rounds);
}

}  // namespace

int bench_paged(const BenchPagedCommand& given) {
  BenchPagedCommand command = given;
  const Config config = load_config(command.model);
  if (command.past.empty()) command.past = {config.max_seq_len / 8, config.max_seq_len - 1};
  check(command, config);
  std::vector<PagedTask> tasks;
  for (const int64_t batch : command.batches)
    for (const int64_t past : command.past) tasks.push_back({batch, past, {}, {}, {}});
  PagedBench bench(command, config, *std::max_element(command.past.begin(), command.past.end()),
                   *std::max_element(command.batches.begin(), command.batches.end()));
  for (int64_t round = 0; round < command.rounds; ++round)
    for (PagedTask& task : tasks) bench.measure_round(task, round);

  ordered_json report = begin_report("bench paged", command.model, {});
  report["cache_dtype"] = name_of(command.cache_dtype), report["block_size"] = command.block_size;
  report["rounds"] = command.rounds;
  if (!command.json)
    fmt::print("{} on {}, {} rounds, blocks of {} tokens; tokens a second, medians\n\n{:<22}{:>12}{:>12}{:>8}{:>16}\n",
               shown_path(command.model), machine(), command.rounds, command.block_size, "", "contiguous", "paged",
               "ratio", "from ... to");
  for (const PagedTask& t : tasks) {
    const auto [least, most] = std::minmax_element(t.ratios.begin(), t.ratios.end());
    const double contiguous = double(t.batch) / median(t.contiguous), paged = double(t.batch) / median(t.paged);
    report["tasks"].push_back({{"batch", t.batch},
                               {"past", t.past},
                               {"contiguous_tokens_per_second", contiguous},
                               {"paged_tokens_per_second", paged},
                               {"ratio", median(t.ratios)},
                               {"least_ratio", *least},
                               {"largest_ratio", *most}});
    if (!command.json)
      fmt::print("{:<22}{:>12.4g}{:>12.4g}{:>8.3f}{:>16}\n", fmt::format("batch {} behind {}", t.batch, t.past),
                 contiguous, paged, median(t.ratios), fmt::format("{:.2f} ... {:.2f}", *least, *most));
  }
  if (command.json) fmt::print("{}\n", pretty(report));
  if (!command.out.empty()) write_report(command.out, report, "", {});
  return 0;
}

}  // namespace rungs
