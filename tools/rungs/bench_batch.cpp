// rungs bench batch: memory and time of batches, with and without the KV cache, beside what was predicted for them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "batch_prediction.hpp"
#include "bench_parts.hpp"
#include "engine.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/units.hpp"
#include "rungs/measure/device_peak.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/measure/peak_memory.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/cpu_workspace.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

constexpr double mib = 1 << 20;
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();  // of a figure that there is not

/// One line of the table: what was predicted, and what was measured.
struct Cell {
  BatchRun run;
  PredictedMemory memory;
  double predicted_seconds = nothing;
  Timing time = {};
  double peak = nothing;  // bytes

  double tokens_per_second() const { return double(run.batch * run.output) / time.seconds; }
  /// Rows that the model is fed.
  int64_t rows() const {
    int64_t rows = 0;
    for (const Call& call : calls_of(run)) rows += call.batch * call.rows;
    return rows;
  }
};

struct Bench {
  const BenchBatchCommand& command;
  Config config;
  WeightsInfo weights;
  std::optional<MeasuredPeak> roof = {};
  std::vector<Cell> cells = {};  // of each batch the one without the cache, then the one with it

  bool on_gpu() const { return command.device.backend != "cpu" && command.device.on == "gpu"; }
};

double error_of(double predicted, double measured) { return predicted / measured - 1; }

/// Bytes that a batch needs at most, with or without the cache.
int64_t needed(const Bench& bench, int64_t batch) {
  const Config& c = bench.config;
  const int64_t input = bench.command.input, output = bench.command.output;
  const double cache =
      8.0 * double(c.num_layers * c.num_kv_heads * c.head_dim) * double(batch) * double(input + output);
  if (cache > 0x1p59) return std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  for (const bool with : {false, true})
    most = std::max(most, predict_memory(c, {batch, input, output, with}, bench.weights, bench.command.device).total());
  return most;
}

void check_free_memory(const Bench& bench) {
  const std::optional<int64_t> free =
      bench.on_gpu() ? backend_of(bench.command.device).device.free_memory() : available_memory();
  const int64_t batch = *std::max_element(bench.command.batches.begin(), bench.command.batches.end());
  const int64_t need = needed(bench, batch), context = bench.command.input + bench.command.output;
  if (!free || need <= *free) return;
  int64_t fits = 0;
  for (int64_t beyond = batch; beyond - fits > 1;) {
    const int64_t middle = (fits + beyond) / 2;
    (needed(bench, middle) <= *free ? fits : beyond) = middle;
  }
  const bool huge = need == std::numeric_limits<int64_t>::max();
  throw UsageError(fmt::format("a batch of {} sequence{} of {} tokens needs {} of memory, of which {} are free: {}",
                               batch, batch == 1 ? "" : "s", context, huge ? "more than 2⁵⁹ bytes" : in_units(need),
                               in_units(*free),
                               fits ? fmt::format("the largest that fits is {}", fits) : "not even one sequence fits"));
}

void check(const Bench& bench) {
  const BenchBatchCommand& command = bench.command;
  constexpr int64_t most = 1 << 20;
  for (const int64_t batch : command.batches)
    if (batch < 1 || batch > most) throw UsageError(fmt::format("batch: wanted from 1 to {}, found {}", most, batch));
  if (command.input < 1) throw UsageError(fmt::format("input: wanted at least 1, found {}", command.input));
  if (command.output < 1) throw UsageError(fmt::format("output: wanted at least 1, found {}", command.output));
  const int64_t context = bench.config.max_seq_len;
  if (command.input > context || command.output > context - command.input)
    throw UsageError(fmt::format("input and output: {} and {} tokens are more than the model's context of {}",
                                 command.input, command.output, context));
  check_free_memory(bench);
}

/// Generates once without looking, so that the program's own pages are in memory, and its threads there, before
/// anything is measured.
void warm_up(const Bench& bench) {
  const BatchRun run{1, std::min<int64_t>(bench.command.input, 64), 1, true};
  const auto model = load_model(backend_of(bench.command.device), bench.command.model, run.plan());
  generate(*model, {any_prompt(run.input, bench.config.vocab_size)}, run.options());
}

/// Loads the model anew, so that nothing of the cell before is in memory, and runs the cell.
void measure_cell(Cell& cell, const Bench& bench, Progress& progress) {
  const std::vector<std::vector<int32_t>> prompts(size_t(cell.run.batch),
                                                  any_prompt(cell.run.input, bench.config.vocab_size));
  std::optional<CpuOps> fresh;
  const Backend backend =
      bench.command.device.backend == "cpu" ? Backend(fresh.emplace()) : backend_of(bench.command.device);
  const bool resets = reset_peak_memory();
  const std::optional<int64_t> resident = resident_memory(), free = backend.device.free_memory();
  int64_t least = free.value_or(0);
  std::optional<int64_t> peak;
  bool first = true;
  {
    const auto model = load_model(backend, bench.command.model, cell.run.plan());
    cell.time = measure([&] {
      generate(*model, prompts, cell.run.options(), [&](const Step& step) {
        if (!first) return;
        progress.advance(int64_t(step.tokens.size()));
        if (bench.on_gpu() && step.sequence == 0) least = std::min(least, backend.device.free_memory().value_or(0));
      });
      if (first) peak = peak_memory();  // a run after it begins with what malloc kept of this one
      first = false;
    });
  }
  if (bench.on_gpu())
    cell.peak = double(*free - least);
  else if (resets && peak && resident)
    cell.peak = double(*peak - *resident);
}

ordered_json number_or_null(double value) { return std::isnan(value) ? ordered_json() : ordered_json(value); }

ordered_json to_json(const Cell& cell) {
  const PredictedMemory& m = cell.memory;
  return {{"batch", cell.run.batch},
          {"cache", cell.run.cache},
          {"rows_a_call", cell.run.plan().max_rows},
          {"seconds", cell.time.seconds},
          {"runs", cell.time.runs},
          {"predicted_seconds", number_or_null(cell.predicted_seconds)},
          {"seconds_error", number_or_null(error_of(cell.predicted_seconds, cell.time.seconds))},
          {"tokens_per_second", cell.tokens_per_second()},
          {"peak_bytes", number_or_null(cell.peak)},
          {"predicted_peak_bytes", m.total()},
          {"peak_error", number_or_null(error_of(double(m.total()), cell.peak))},
          {"predicted",
           {{"weights", m.weights},
            {"cache", m.cache},
            {"rope_tables", m.rope_tables},
            {"scratch", m.scratch},
            {"workspace", m.workspace}}}};
}

std::string command_line(const BenchBatchCommand& c) {
  std::string line = fmt::format("rungs bench batch --batch {} --input {} --output {} --model {}",
                                 fmt::join(c.batches, ","), c.input, c.output, shown_path(c.model));
  if (threads_of_cpu() != int(std::thread::hardware_concurrency()))
    line += fmt::format(" --threads {}", threads_of_cpu());
  if (c.device.backend != "cpu") line += fmt::format(" --backend {} --on {}", c.device.backend, c.device.on);
  return line;
}

ordered_json report_of(const Bench& bench) {
  ordered_json report = begin_report(command_line(bench.command), bench.command.model, bench.command.device);
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  report["date"] = fmt::format("{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()), unsigned(date.day()));
  report["threads"] = threads_of_cpu();
  report["input"] = bench.command.input;
  report["output"] = bench.command.output;
  report["weights"] = {{"dtype", name_of(bench.weights.dtype)},
                       {"bytes", bench.weights.bytes},
                       {"predicted_bytes", bench.weights.predicted}};
  if (bench.roof)
    report["roof"] = {{"flops_per_second", bench.roof->roof.flops},
                      {"bytes_per_second", bench.roof->roof.bandwidth},
                      {"spread", bench.roof->spread}};
  for (const Cell& cell : bench.cells) report["rows"].push_back(to_json(cell));
  for (size_t i = 0; i + 1 < bench.cells.size(); i += 2) {
    const Cell &without = bench.cells[i], &with = bench.cells[i + 1];
    report["without_over_with"].push_back({{"batch", with.run.batch},
                                           {"seconds", without.time.seconds / with.time.seconds},
                                           {"peak_bytes", number_or_null(without.peak / with.peak)}});
  }
  return report;
}

std::string shown(const char* form, double value) {
  return std::isnan(value) ? "" : fmt::format(fmt::runtime(form), value);
}

/// Four digits or the whole seconds.
std::string seconds(double value) { return shown(value < 1 ? "{:.4f}" : value < 100 ? "{:.3f}" : "{:.1f}", value); }

void print_text(const Bench& bench) {
  const WeightsInfo& w = bench.weights;
  fmt::print("{}, {} threads\n{}: {} tokens in, {} out\n\n", machine(), threads_of_cpu(),
             shown_path(bench.command.model), bench.command.input, bench.command.output);
  fmt::print("Model memory: {} bytes of {}, predicted {}: {:+.1f}%\n\n", with_commas(w.bytes), name_of(w.dtype),
             with_commas(w.predicted), 100 * error_of(double(w.predicted), double(w.bytes)));
  constexpr const char* form = "{:>5}  {:<7} {:>8} {:>9} {:>6}  {:>9} {:>9} {:>6} {:>9}\n";
  fmt::print("{:<14}  {:^24}   {}\n", "", "run time (s)", "   peak memory (MiB)");
  fmt::print(fmt::runtime(form), "batch", "cache", "measured", "predicted", "error", "measured", "predicted", "error",
             "tokens/s");
  for (const Cell& cell : bench.cells)
    fmt::print(fmt::runtime(form), cell.run.batch, cell.run.cache ? "with" : "without", seconds(cell.time.seconds),
               seconds(cell.predicted_seconds),
               shown("{:+.0f}%", 100 * error_of(cell.predicted_seconds, cell.time.seconds)),
               shown("{:.1f}", cell.peak / mib), shown("{:.1f}", double(cell.memory.total()) / mib),
               shown("{:+.1f}%", 100 * error_of(double(cell.memory.total()), cell.peak)),
               shown("{:.1f}", cell.tokens_per_second()));

  fmt::print("\n{:<14} {:>8}  {:>11}\n", "without / with", "run time", "peak memory");
  for (size_t i = 0; i + 1 < bench.cells.size(); i += 2) {
    const Cell &without = bench.cells[i], &with = bench.cells[i + 1];
    fmt::print("{:>5}          {:>8}  {:>11}\n", with.run.batch,
               shown("{:.1f}x", without.time.seconds / with.time.seconds), shown("{:.2f}x", without.peak / with.peak));
  }
  if (bench.roof)
    fmt::print(
        "\nThe predicted run time is the least that this machine's measured roof allows: {:.1f} GFLOP/s in f32, "
        "{:.1f} GB/s (of 10⁹).\n",
        bench.roof->roof.flops * 1e-9, bench.roof->roof.bandwidth * 1e-9);
  else
    fmt::print("\nNo run time is predicted: the roof of this device is not known.\n");
  if (bench.roof) fmt::print("{}", bench.roof->noise());
  if (std::isnan(bench.cells[0].peak))
    fmt::print(
        "Peak memory is not measured: the kernel does not let this process reset its peak "
        "(/proc/self/clear_refs).\n");
  fmt::print("\n");
}

std::vector<Panel> panels_of(const Bench& bench) {
  const auto panel = [&](const char* title, const char* y_label, auto measured, auto predicted) {
    std::vector<double> x, y[2], expected[2];
    for (const Cell& cell : bench.cells) {
      if (!cell.run.cache) x.push_back(double(cell.run.batch));
      y[cell.run.cache].push_back(measured(cell)), expected[cell.run.cache].push_back(predicted(cell));
    }
    Panel both = without_and_with(title, "batch (sequences)", y_label, x, y[0], y[1]);
    Panel lines = without_and_with("", "", "", x, expected[0], expected[1]);
    for (Curve& curve : lines.curves) {
      if (curve.x.empty()) continue;
      curve.name = both.curves.size() == 2 ? "predicted" : "";  // the colours say of which
      curve.style = Curve::Style::dashed;
      both.curves.push_back(curve);
    }
    both.key_below = true;
    return both;
  };
  std::vector<Panel> panels = {panel(
      "run time", "time (seconds)", [](const Cell& c) { return c.time.seconds; },
      [](const Cell& c) { return c.predicted_seconds; })};
  panels[0].log_y = true;
  if (!std::isnan(bench.cells[0].peak))
    panels.push_back(panel(
        "peak memory", "memory (MiB)", [](const Cell& c) { return c.peak / mib; },
        [](const Cell& c) { return double(c.memory.total()) / mib; }));
  return panels;
}

}  // namespace

int bench_batch(const BenchBatchCommand& command) {
  const Config config = load_config(command.model);
  Bench bench{command, config, weights_of(config)};
  check(bench);
  if (command.device.backend == "cpu") bench.roof = measure_device_peak();
  int64_t rows = 0;
  for (const int64_t batch : command.batches)
    for (const bool cache : {false, true}) {
      const BatchRun run{batch, command.input, command.output, cache};
      Cell cell{run, predict_memory(config, run, bench.weights, command.device)};
      if (bench.roof) cell.predicted_seconds = predict_seconds(config, run, bench.weights.dtype, bench.roof->roof);
      rows += cell.rows();
      bench.cells.push_back(cell);
    }
  {
    Progress progress("measuring", rows);
    warm_up(bench);
    for (Cell& cell : bench.cells) measure_cell(cell, bench, progress);
  }
  const ordered_json report = report_of(bench);
  const std::vector<Panel> panels = panels_of(bench);
  write_report(command.out, report, fmt::format("Batches of {} tokens in, {} out", command.input, command.output),
               panels);
  if (command.json) {
    fmt::print("{}\n", pretty(report));
    return 0;
  }
  print_text(bench);
  std::vector<Panel> measured = panels;  // in characters, four curves are too many
  for (Panel& panel : measured) panel.curves.resize(2);
  show_report(command.out, measured);
  return 0;
}

}  // namespace rungs
