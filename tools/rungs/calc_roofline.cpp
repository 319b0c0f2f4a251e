// rungs calc roofline: what a device could reach at best, and where the operations of a model stand under it.
#include "calc.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/units.hpp"
#include "rungs/measure/device_peak.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/measure/timing_ops.hpp"
#include "rungs/model/model.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "suggest.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

/// One operation of one phase, as predicted and perhaps as measured.
struct Point {
  const char* phase;
  Operation operation;
  double seconds = 0;   ///< at least
  double measured = 0;  ///< seconds; 0: not measured
};

struct Phase {
  const char* name;
  Call call;
};

struct RooflineQuestion {
  CalcShape shape;
  MeasuredPeak roof;
  int64_t context, batch;
  std::vector<Phase> phases;
};

std::string known_devices() { return fmt::format("{} or measured", fmt::join(roof_names(), ", ")); }

MeasuredPeak roof_of(const std::string& device, bool quiet) {
  if (device == "measured") {
    if (!quiet) fmt::print(stderr, "Measuring the roof of this machine ...\n");
    return measure_device_peak();
  }
  if (const std::optional<DevicePeak> roof = named_device_peak(device)) return {*roof};
  throw UsageError(
      fmt::format("device: wanted {}, found \"{}\"{}", known_devices(), device, did_you_mean(device, roof_names())));
}

RooflineQuestion question(const CalcRooflineCommand& command) {
  CalcShape shape = shape_of(command.model);
  const int64_t context = parse_tokens("context", command.context), batch = parse_count("batch", command.batch);
  constexpr int64_t most = int64_t(1) << 30;
  if (context > most) throw UsageError(fmt::format("context: wanted at most 2^30, found {}", context));
  if (batch > most) throw UsageError(fmt::format("batch: wanted at most 2^30, found {}", batch));
  if (command.run) {
    if (command.device != "measured") throw UsageError("run: this machine is measured, so wanted --device measured");
    if (!std::filesystem::exists(command.model.model))
      throw UsageError(fmt::format(
          "run: wanted a checkpoint as --model; `./rungs random-model DIR --shape {}` makes one", shape.name));
    if (context >= shape.config.max_seq_len)
      throw UsageError(fmt::format("context: {} tokens and one more are past the end of the model's context of {}",
                                   context, shape.config.max_seq_len));
  }
  return {std::move(shape),
          roof_of(command.device, command.output.json || command.output.csv),
          context,
          batch,
          {{"prefill", {batch, context, 0}}, {"decode", {batch, 1, context}}}};
}

/// Seconds of each operation in one call, in the order of operations(): the median of several calls.
std::vector<double> measure_operations(Model& model, TimingOps& ops, KvCache& cache, const Call& call) {
  const Config& c = model.config();
  Tensor logits = model.backend().device.allocate({call.batch, c.vocab_size});
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < call.rows; ++i) tokens.push_back(int32_t(i * 7 % c.vocab_size));
  Batch batch;
  for (int64_t sequence = 0; sequence < call.batch; ++sequence)
    batch.add(int32_t(sequence), tokens, call.past, /*only_last=*/true);
  std::vector<std::vector<double>> runs(6);
  measure([&] {
    ops.sums = {}, ops.products.clear();
    model.forward(logits, batch, &cache);
    const auto product = [&](int64_t out, int64_t in) { return ops.products[{out, in}]; };
    const double found[] = {ops.sums[TimingOps::norm_qkv_].seconds,           ops.sums[TimingOps::attention_].seconds,
                            product(c.hidden_size, c.num_heads * c.head_dim), ops.sums[TimingOps::norm_swiglu_].seconds,
                            product(c.hidden_size, c.intermediate_size),      product(c.vocab_size, c.hidden_size)};
    for (size_t i = 0; i < runs.size(); ++i) runs[i].push_back(found[i]);
  });
  std::vector<double> seconds;
  for (const std::vector<double>& list : runs) seconds.push_back(median(list));
  return seconds;
}

std::vector<Point> points_of(const RooflineQuestion& q, const CalcRooflineCommand& command) {
  const ElementBytes bytes{q.shape.weight_bytes, q.shape.cache_bytes, command.device == "measured" ? 4.0 : 2.0};
  std::vector<Point> points;
  for (const Phase& phase : q.phases)
    for (const Operation& operation : operations(q.shape.config, phase.call, bytes))
      points.push_back({phase.name, operation, q.roof.roof.seconds(operation.cost)});
  if (!command.run) return points;

  CpuOps cpu;
  TimingOps ops(cpu);
  const LoadOptions options{.max_rows = q.batch * q.context, .context = q.context + 1};
  const std::unique_ptr<Model> model = load_model(ops, command.model.model, options);
  KvCache cache(ops, model->config(), q.batch, q.context + 1);
  Progress progress("measuring", int64_t(q.phases.size()));
  size_t at = 0;
  for (const Phase& phase : q.phases) {
    for (const double seconds : measure_operations(*model, ops, cache, phase.call)) points[at++].measured = seconds;
    progress.advance();
  }
  return points;
}

double flops_per_second(const Point& p) { return p.operation.cost.flops / p.seconds; }
double measured_flops_per_second(const Point& p) { return p.operation.cost.flops / p.measured; }

/// "12.3 TFLOP/s"
std::string speed(double flops) {
  const bool tera = flops >= 1e12;
  return fmt::format("{:.4g} {}FLOP/s", flops / (tera ? 1e12 : 1e9), tera ? "T" : "G");
}

ordered_json rows_json(const RooflineQuestion& q, const std::vector<Point>& points, bool run) {
  ordered_json rows = ordered_json::array();
  for (const Point& p : points) {
    const Cost& cost = p.operation.cost;
    rows.push_back({{"phase", p.phase},
                    {"operation", p.operation.name},
                    {"flops", cost.flops},
                    {"bytes", cost.bytes},
                    {"flops_per_byte", cost.intensity()},
                    {"bound_by", cost.intensity() < q.roof.roof.ridge() ? "memory" : "compute"},
                    {"attainable_flops_per_second", flops_per_second(p)},
                    {"seconds_at_least", p.seconds}});
    if (run) {
      rows.back()["measured_seconds"] = p.measured;
      rows.back()["measured_flops_per_second"] = measured_flops_per_second(p);
    }
  }
  return rows;
}

ordered_json report(const RooflineQuestion& q, const std::vector<Point>& points, bool run) {
  const DevicePeak& roof = q.roof.roof;
  ordered_json all = {{"model", q.shape.name},
                      {"device", roof.name},
                      {"source", roof.source},
                      {"flops_per_second", roof.flops},
                      {"bytes_per_second", roof.bandwidth},
                      {"ridge_flops_per_byte", roof.ridge()},
                      {"spread", q.roof.spread},
                      {"taken_by_others", q.roof.taken},
                      {"noisy", q.roof.noisy()},
                      {"context", q.context},
                      {"batch", q.batch}};
  all["operations"] = rows_json(q, points, run);
  return all;
}

void print_text(const RooflineQuestion& q, const std::vector<Point>& points, bool run) {
  const DevicePeak& roof = q.roof.roof;
  fmt::print("{} ({})\n  {}, {:.4g} GB/s of 10^9 bytes; the ridge is at {:.1f} FLOP/byte\n", roof.name, roof.source,
             speed(roof.flops), roof.bandwidth * 1e-9, roof.ridge());
  fmt::print("{}", q.roof.noise());
  fmt::print("\n{}: {}\n{:.4g} bytes a weight, {} a cache element{}\n\n", q.shape.name, description(q.shape.config),
             q.shape.weight_bytes, q.shape.cache_bytes, q.shape.cache_note);
  for (const Phase& phase : q.phases) {
    Table table{{"operation", "FLOP", "bytes", "FLOP/byte", "bound by", "at best", "time at least"}, {}};
    if (run) table.columns.insert(table.columns.end(), {"measured", "of the roof"});
    double least = 0, measured = 0;
    for (const Point& p : points) {
      if (p.phase != phase.name) continue;
      const Cost& cost = p.operation.cost;
      least += p.seconds, measured += p.measured;
      table.rows.push_back({p.operation.name, fmt::format("{:.3g}", cost.flops), fmt::format("{:.3g}", cost.bytes),
                            fmt::format("{:.2f}", cost.intensity()),
                            cost.intensity() < roof.ridge() ? "memory" : "compute", speed(flops_per_second(p)),
                            fmt::format("{:.4g} ms", 1e3 * p.seconds)});
      if (run) {
        table.rows.back().push_back(speed(measured_flops_per_second(p)));
        table.rows.back().push_back(fmt::format("{:.0f}%", 100 * p.seconds / p.measured));
      }
    }
    const auto tokens = double(phase.call.batch * phase.call.rows);
    table.print(fmt::format("{}: {} request{} of {} token{} behind {}", phase.name, phase.call.batch,
                            phase.call.batch == 1 ? "" : "s", phase.call.rows, phase.call.rows == 1 ? "" : "s",
                            phase.call.past));
    fmt::print("  together at least {:.4g} ms, so at most {:.4g} tokens per second", 1e3 * least, tokens / least);
    if (run)
      fmt::print("; measured {:.4g} ms, {:.4g} tokens per second, {:.0f}% of the roof", 1e3 * measured,
                 tokens / measured, 100 * least / measured);
    fmt::print("\n\n");
  }
}

/// A panel for each phase, both axes logarithmic: the roof, and the operations on it or, measured, below it.
std::vector<Panel> panels(const RooflineQuestion& q, const std::vector<Point>& points, bool run) {
  constexpr const char* colours[] = {"#00798c", "#d1495b", "#edae49", "#66a182", "#2e4057", "#8d5fd3"};
  const DevicePeak& roof = q.roof.roof;
  double least = roof.ridge(), most = roof.ridge();
  for (const Point& p : points)
    least = std::min(least, p.operation.cost.intensity()), most = std::max(most, p.operation.cost.intensity());
  Curve line{"the roof", "#555555", {}, {}, Curve::Style::line};
  for (const double x : {least / 3, roof.ridge(), most * 3})
    line.x.push_back(x), line.y.push_back(roof.attainable(x) * 1e-9);
  std::vector<Panel> all;
  for (const Phase& phase : q.phases) {
    const std::string what = run ? ", measured" : ", at best";
    Panel panel{phase.name + what, "arithmetic intensity (FLOP/byte)", "GFLOP/s", {line}, true, true,
                /*key_below=*/true};
    for (const Point& p : points) {
      if (p.phase != phase.name) continue;
      const double flops = run ? measured_flops_per_second(p) : flops_per_second(p);
      panel.curves.push_back({p.operation.name,
                              colours[panel.curves.size() - 1],
                              {p.operation.cost.intensity()},
                              {flops * 1e-9},
                              Curve::Style::points});
    }
    all.push_back(panel);
  }
  return all;
}

}  // namespace

int calc_roofline(const CalcRooflineCommand& command) {
  const RooflineQuestion q = question(command);
  const std::vector<Point> points = points_of(q, command);
  if (command.output.csv)
    print_csv(rows_json(q, points, command.run));
  else if (command.output.json)
    fmt::print("{}\n", pretty(report(q, points, command.run)));
  else
    print_text(q, points, command.run);
  draw(command.output, fmt::format("{} under the roof of {}", q.shape.name, q.roof.roof.name),
       panels(q, points, command.run));
  return 0;
}

}  // namespace rungs
