// rungs bench engine: how fast this library runs a model, beside what memory and processor allow.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench_parts.hpp"
#include "engine_tasks.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/measure/bandwidth.hpp"
#include "rungs/measure/device_peak.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/model/llama.hpp"

namespace rungs {

using nlohmann::ordered_json;

static constexpr int64_t behind = 32;  // tokens before the one that is decoded: in the middle of the first 64

std::string EngineTask::name() const {
  if (kind == Kind::batch) return fmt::format("batch of {}", call.batch);
  if (kind == Kind::prompt) return fmt::format("prompt of {}", call.rows);
  return call.past == behind ? "decode" : fmt::format("decode behind {}", call.past);
}

std::vector<EngineTask> engine_tasks(const Config& config, int threads) {
  using Kind = EngineTask::Kind;
  const int64_t context = config.max_seq_len;
  std::vector<EngineTask> tasks;
  if (context > 2 * behind) {
    tasks.push_back({Kind::decode, {1, 1, behind}, 1});
    if (threads > 1) tasks.push_back({Kind::decode, {1, 1, behind}, threads});
    for (const int64_t batch : {2, 4, 8, 16}) tasks.push_back({Kind::batch, {batch, 1, behind}, threads});
  }
  for (const int64_t rows : {13, 16, 32, 64, 128, 256, 512})
    if (rows <= context) tasks.push_back({Kind::prompt, {1, rows, 0}, threads});
  if (const int64_t far = std::min<int64_t>(4000, context / 2 * 2 - 96); far > 1000)
    tasks.push_back({Kind::decode, {1, 1, far}, threads});
  return tasks;
}

/// Bytes of an element, over the tensors that a call reads whole: of an untied model not the token embedding.
static double bytes_of_weights(const Config& c) {
  const TensorSet tensors = open_weights(c);
  double bytes = 0, elements = 0;
  for (const std::string& name : tensors.names())
    if (c.tied || name != "model.embed_tokens.weight")
      bytes += double(tensors.get(name).bytes()), elements += double(tensors.get(name).count());
  return bytes / elements;
}

EngineBench::EngineBench(const std::filesystem::path& path, int threads, DType cache) : peaks_(size_t(threads), 0) {
  const Config config = load_config(path);
  if (!config.is_llama())
    throw UsageError(fmt::format("{}: wanted a LLaMA, found a model of type \"{}\"", path.string(), config.model_type));
  tasks_ = engine_tasks(config, threads);
  if (tasks_.empty())
    throw UsageError(
        fmt::format("{}: wanted a context of 13 tokens or more, found {}", path.string(), config.max_seq_len));
  int64_t rows = 16, capacity = 0;
  for (const EngineTask& t : tasks_)
    rows = std::max(rows, t.call.rows), capacity = std::max(capacity, t.call.past + t.call.rows);
  model_ = load_model(ops_, path, {.max_rows = rows, .sequences = 1, .capacity = capacity});
  short_ = filled_cache(ops_, config, 16, std::min(config.max_seq_len, 2 * behind), cache);
  long_ = filled_cache(ops_, config, 1, capacity, cache);
  logits_ = ops_.allocate({16, config.vocab_size});
  weight_bytes_ = bytes_of_weights(config);
  cache_bytes_ = double(bytes_of(cache, block_elements)) / double(block_elements);
}

double EngineBench::seconds(const EngineTask& task) {
  const Call& call = task.call;
  Batch batch;
  const std::vector<int32_t> tokens = any_prompt(call.rows, model_->config().vocab_size);
  for (int64_t i = 0; i < call.batch; ++i) batch.add(int32_t(i), tokens, call.past, /*only_last=*/true);
  Tensor logits = logits_.view_rows(0, call.batch);
  KvCache& cache = call.past + call.rows > short_.capacity() ? long_ : short_;
  use_threads(task.threads);
  model_->forward(logits, batch, &cache);  // wakes the threads, and brings the weights into memory
  return measure([&] { model_->forward(logits, batch, &cache); }, 0.5).seconds;
}

double EngineBench::least_seconds(const EngineTask& task, double bandwidth) {
  double& peak = peaks_.at(size_t(task.threads - 1));
  if (peak == 0) peak = multiply_add_rate(task.threads);
  const DevicePeak roof{"", peak, bandwidth, ""};
  double seconds = 0;
  for (const Operation& o : operations(model_->config(), task.call, {weight_bytes_, cache_bytes_, sizeof(float)}))
    seconds += roof.seconds(o.cost);
  return seconds;
}

int bench_engine(const BenchEngineCommand& command) {
  EngineBench bench(command.model, omp_get_max_threads(), command.cache_dtype);
  ordered_json report = begin_report("bench engine", command.model, {});
  report["cache_dtype"] = name_of(command.cache_dtype);
  if (!command.json)
    fmt::print("{} on {}\n\n{:<22}{:>8}{:>11}{:>12}{:>10}{:>15}\n", shown_path(command.model), machine(), "", "threads",
               "ms a call", "tokens/s", "memory's", "of the limit");
  for (const EngineTask& task : bench.tasks()) {
    const double before = bandwidth(task.threads), seconds = bench.seconds(task), after = bandwidth(task.threads);
    const double memory = (before + after) / 2, share = bench.least_seconds(task, memory) / seconds;
    const bool quiet = agree(before, after);
    report["tasks"].push_back({{"task", task.name()},
                               {"threads", task.threads},
                               {"seconds", seconds},
                               {"tokens_per_second", task.tokens() / seconds},
                               {"bytes_per_second", memory},
                               {"share_of_limit", share},
                               {"quiet", quiet}});
    if (command.json) continue;
    fmt::print("{:<22}{:>8}{:>11.3g}{:>12}{:>5.1f} GB/s{:>13.0f}%{}\n", task.name(), task.threads, 1e3 * seconds,
               in_four_digits(task.tokens() / seconds), memory * 1e-9, 100 * share,
               quiet ? "" : "  memory was not alone");
    std::fflush(stdout);
  }
  if (command.json)
    fmt::print("{}\n", pretty(report));
  else
    fmt::print(
        "\nThe limit: each operation takes as long as memory gives its bytes, or as f32 products take. More than "
        "100%:\nthe weights stay in the caches, or products of int8 are faster.\n");
  if (!command.out.empty()) write_report(command.out, report, "", {});
  return 0;
}

}  // namespace rungs
