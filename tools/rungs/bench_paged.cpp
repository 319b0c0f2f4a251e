// rungs bench paged: decoding with a paged KV cache beside decoding with a contiguous one.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "bench_parts.hpp"
#include "engine.hpp"
#include "need.hpp"
#include "rungs/base/json.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/model/model.hpp"
#include "rungs/tensor/compare.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

/// One decode step of a batch, behind the same keys and values in both caches.
struct PagedTask {
  int64_t batch, past;
  std::vector<double> contiguous, paged, ratios;  // seconds of the fastest call of each round; contiguous / paged
};

/// The same keys and values in blocks, which lie in memory in a random order, as after some hours of serving.
KvCache in_blocks(Device& device, const Config& config, const KvCache& whole, int64_t block_size) {
  const int64_t sequences = whole.sequences(), each = (whole.capacity() + block_size - 1) / block_size;
  const DType dtype = whole.layers[0].k.dtype();
  KvCache paged(device, config, sequences, {sequences * each, block_size}, dtype);
  std::vector<int32_t> order(size_t(paged.blocks()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = int32_t(i);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (auto& table : paged.tables)
    for (int64_t i = 0; i < each; ++i) table.push_back(order.back()), order.pop_back();

  const auto copy_rows = [&](Tensor& to, const Tensor& from) {  // (blocks, block_size, ...), (sequences, capacity, ...)
    Tensor rows(from.shape(), dtype), blocks(to.shape(), dtype);  // here
    device.download(rows.raw(), from);
    for (int64_t s = 0; s < sequences; ++s)
      for (int64_t i = 0; i < each; ++i) {
        const int64_t first = i * block_size, count = std::min(block_size, whole.capacity() - first);
        const ConstTensor source = rows[s].view_rows(first, count);
        std::memcpy(blocks[paged.tables[size_t(s)][size_t(i)]].raw(), source.raw(), source.bytes());
      }
    device.upload(to, blocks.raw());
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

/// The CPU adds up in the same order in both caches. CUDA's kernels split keys for the room that a cache has, so their
/// sums are rounded in another order there: by some 2⁻²⁴ of each, where a wrong key would change logits by much more.
void check_same_logits(const Tensor& contiguous, const Tensor& paged, bool same_order) {
  double largest = 0;
  for (int64_t i = 0; i < contiguous.count(); ++i) largest = std::max(largest, std::abs(double(contiguous.flat(i))));
  const Comparison c = compare(paged, contiguous, {.absolute = same_order ? 0 : 1e-4 * largest});
  if (!c.pass)
    throw Error(fmt::format("a logit with a paged cache is {} and with a contiguous one {}: what was measured is wrong",
                            c.got, c.want));
}

/// A model with both caches, and the calls that are measured.
class PagedBench {
 public:
  PagedBench(const BenchPagedCommand& command, const Config& config, int64_t past, int64_t sequences)
      : backend_(backend_of(command.device)),
        same_order_(command.device.backend == "cpu"),
        model_(load_model(backend_, command.model, {.max_rows = sequences})),
        contiguous_(filled_cache(backend_.device, config, sequences, past + 1, command.cache_dtype)),
        paged_(in_blocks(backend_.device, config, contiguous_, command.block_size)),
        logits_(backend_.device.allocate({sequences, config.vocab_size})) {}

  /// One round: each cache has its turn, the first of which changes from round to round.
  void measure_round(PagedTask& task, int64_t round) {
    Batch batch;
    for (int64_t i = 0; i < task.batch; ++i) batch.add(int32_t(i), std::vector{int32_t(i)}, task.past, true);
    const bool paged_first = round % 2 != 0;
    double seconds[2];
    Tensor logits = logits_.view_rows(0, task.batch), host[2] = {Tensor(logits.shape()), Tensor(logits.shape())};
    for (const bool paged : {paged_first, !paged_first}) {
      KvCache& cache = paged ? paged_ : contiguous_;
      const auto call = [&] {
        model_->forward(logits, batch, &cache);
        backend_.device.download(host[paged].raw(), logits);  // a GPU is done only then
      };
      for (int brings_near = 0; brings_near < 3; ++brings_near) call();  // this cache; CUDA records the second call
      seconds[paged] = fastest(call);
    }
    check_same_logits(host[0], host[1], same_order_);
    task.contiguous.push_back(seconds[0]), task.paged.push_back(seconds[1]);
    task.ratios.push_back(seconds[0] / seconds[1]);
  }

 private:
  Backend backend_;
  bool same_order_;
  std::unique_ptr<Model> model_;
  KvCache contiguous_, paged_;
  Tensor logits_;
};

void check(const BenchPagedCommand& command, const Config& config) {
  for (const int64_t batch : command.batches) need("--batch", batch >= 1 && batch <= 256, "1 to 256", batch);
  for (const int64_t past : command.past)
    need("--past", past >= 0 && past < config.max_seq_len, fmt::format("0 to {}", config.max_seq_len - 1), past);
  need("--block-size", command.block_size >= 0 && command.block_size <= 4096, "0 (as serve takes) to 4096",
       command.block_size);
  need("--rounds", command.rounds >= 1 && command.rounds <= 1000, "1 to 1000", command.rounds);
}

}  // namespace

int bench_paged(const BenchPagedCommand& given) {
  BenchPagedCommand command = given;
  const Config config = load_config(command.model);
  if (command.past.empty()) command.past = {config.max_seq_len / 8, config.max_seq_len - 1};
  check(command, config);
  if (command.block_size == 0) command.block_size = usual_block_size(config, command.cache_dtype);
  std::vector<PagedTask> tasks;
  for (const int64_t batch : command.batches)
    for (const int64_t past : command.past) tasks.push_back({batch, past, {}, {}, {}});
  PagedBench bench(command, config, *std::max_element(command.past.begin(), command.past.end()),
                   *std::max_element(command.batches.begin(), command.batches.end()));
  for (int64_t round = 0; round < command.rounds; ++round)
    for (PagedTask& task : tasks) bench.measure_round(task, round);

  ordered_json report = begin_report("bench paged", command.model, command.device);
  report["cache_dtype"] = name_of(command.cache_dtype), report["block_size"] = command.block_size;
  report["rounds"] = command.rounds;
  if (!command.json)
    fmt::print("{} on {}, rounds: {}, blocks of {} tokens; tokens a second, medians\n\n{:<22}{:>12}{:>12}{:>8}{:>16}\n",
               shown_path(command.model),
               command.device.backend == "cpu" ? machine() : report["backend"].get<std::string>() + ", " + machine(),
               command.rounds, command.block_size, "", "contiguous", "paged", "ratio", "from ... to");
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
