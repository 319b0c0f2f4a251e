// rungs calc memory: what a model needs before it runs.
#include <array>
#include <cctype>

#include "calc.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/units.hpp"
#include "rungs/model/memory_estimate.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

constexpr const char* why_they_differ =
    "The course's formula has two feed-forward matrices with biases where LLaMA has three without, no output "
    "projection\nof attention, no norms, and always two tables of the vocabulary.";

/// One formula's answer for one context on one GPU of several.
struct Answer {
  int64_t parameter_bytes, cache_bytes, batch;
};

struct ContextRow {
  int64_t context, gpus;
  std::vector<Answer> answers;  // one a formula
};

struct MemoryQuestion {
  CalcShape shape;
  int64_t memory;
  std::vector<int64_t> contexts, gpus;
  std::vector<Formula> formulas;
};

const char* name_of(Formula formula) { return formula == Formula::exact ? "exact" : "course"; }

Answer answer(const MemoryQuestion& q, int64_t context, int64_t gpus, Formula formula) {
  const GpuShare share = share_of_gpu(q.shape.config, context, gpus, formula);
  const int64_t parameters = bytes_of(share.parameters, q.shape.weight_bytes);
  const int64_t cache = bytes_of(share.cache_elements, q.shape.cache_bytes);
  return {parameters, cache, largest_batch(q.memory, parameters, cache)};
}

std::string gibibytes(int64_t bytes) { return fmt::format("{:.3f}", in_gib(double(bytes))); }

/// What would make the parameters fit: fewer bytes a weight, or more GPUs.
std::string what_fits(const MemoryQuestion& q) {
  std::vector<std::string> ways;
  for (const auto& [bytes, dtype] : {std::pair{2.0, "bf16"}, {1.0, "int8"}, {0.5, "int4"}}) {
    MemoryQuestion smaller = q;
    smaller.shape.weight_bytes = bytes;
    if (bytes < q.shape.weight_bytes && answer(smaller, q.contexts[0], q.gpus[0], q.formulas[0]).batch > 0) {
      ways.push_back(fmt::format("--weight-bytes {} ({})", bytes, dtype));
      break;
    }
  }
  for (int64_t gpus = 2 * q.gpus.back(); gpus <= q.shape.config.num_kv_heads; gpus *= 2)
    if (q.shape.config.num_kv_heads % gpus == 0 && answer(q, q.contexts[0], gpus, q.formulas[0]).batch > 0) {
      ways.push_back(fmt::format("--tp {}", gpus));
      break;
    }
  return ways.empty() ? "nothing that this command knows makes it fit"
                      : fmt::format("{} make{} it fit", fmt::join(ways, " or "), ways.size() == 1 ? "s" : "");
}

/// \throws UsageError when no row has room for a single request, as the first formula counts.
void check_that_one_fits(const MemoryQuestion& q, const std::vector<ContextRow>& rows) {
  for (const ContextRow& row : rows)
    if (row.answers[0].batch > 0) return;
  const Answer last = rows.back().answers[0];
  const int64_t over = last.parameter_bytes - q.memory;
  if (over > 0)
    throw UsageError(fmt::format("{}: its parameters take {} GiB, {} GiB more than the {} GiB of the device: {}",
                                 q.shape.name, gibibytes(last.parameter_bytes), gibibytes(over), gibibytes(q.memory),
                                 what_fits(q)));
  const Answer one = answer(q, 1, q.gpus.back(), q.formulas[0]);
  const int64_t room = q.memory - last.parameter_bytes;
  throw UsageError(
      fmt::format("context: one request of {} tokens needs {} GiB of cache, and the parameters leave {} of {} GiB: at "
                  "most {} tokens fit",
                  with_commas(rows.back().context), gibibytes(last.cache_bytes), gibibytes(room), gibibytes(q.memory),
                  with_commas(room / one.cache_bytes)));
}

ordered_json rows_json(const MemoryQuestion& q, const std::vector<ContextRow>& rows) {
  ordered_json list = ordered_json::array();
  for (const ContextRow& row : rows)
    for (size_t i = 0; i < q.formulas.size(); ++i)
      list.push_back({{"formula", name_of(q.formulas[i])},
                      {"context", row.context},
                      {"gpus", row.gpus},
                      {"parameter_bytes", row.answers[i].parameter_bytes},
                      {"cache_bytes_per_request", row.answers[i].cache_bytes},
                      {"largest_batch", row.answers[i].batch}});
  return list;
}

ordered_json parameters_json(const MemoryQuestion& q) {
  ordered_json all;
  for (const Formula formula : q.formulas) {
    const Parameters p = count_parameters(q.shape.config, formula);
    all[name_of(formula)] = {{"embedding", p.embedding},
                             {"attention", p.attention},
                             {"feed_forward", p.feed_forward},
                             {"norms", p.norms},
                             {"output", p.output},
                             {"total", p.total()},
                             {"bytes", bytes_of(p.total(), q.shape.weight_bytes)}};
  }
  return all;
}

void print_parameters(const MemoryQuestion& q) {
  Table table{{"parameters"}, {}};
  for (const Formula formula : q.formulas) table.columns.emplace_back(name_of(formula));
  const auto line = [&](const char* name, auto value) {
    std::vector<std::string> cells = {name};
    for (const Formula formula : q.formulas) cells.push_back(value(count_parameters(q.shape.config, formula)));
    table.rows.push_back(cells);
  };
  const auto part = [&](const char* name, int64_t Parameters::*count) {
    line(name, [count](const Parameters& p) { return with_commas(p.*count); });
  };
  part("token embedding", &Parameters::embedding);
  part("attention", &Parameters::attention);
  part("feed-forward", &Parameters::feed_forward);
  part("norms", &Parameters::norms);
  part("output", &Parameters::output);
  line("together", [](const Parameters& p) { return with_commas(p.total()); });
  line("GiB", [&](const Parameters& p) { return gibibytes(bytes_of(p.total(), q.shape.weight_bytes)); });
  table.print("");
  if (q.formulas.size() == 2) fmt::print("{}\n\n", why_they_differ);
}

void print_rows(const MemoryQuestion& q, const std::vector<ContextRow>& rows) {
  const bool several = q.gpus != std::vector<int64_t>{1}, both = q.formulas.size() > 1;
  Table table{{"context"}, {}};
  if (several) table.columns.emplace_back("GPUs");
  if (both) table.columns.emplace_back("formula");
  table.columns.insert(table.columns.end(), {"parameters (GiB)", "cache of a request (GiB)", "largest batch"});
  for (const ContextRow& row : rows)
    for (size_t i = 0; i < q.formulas.size(); ++i) {
      const Answer& a = row.answers[i];
      std::vector<std::string> cells = {std::to_string(row.context)};
      if (several) cells.push_back(std::to_string(row.gpus));
      if (both) cells.emplace_back(name_of(q.formulas[i]));
      for (const std::string& cell : {gibibytes(a.parameter_bytes), gibibytes(a.cache_bytes), with_commas(a.batch)})
        cells.push_back(cell);
      table.rows.push_back(cells);
    }
  table.print(several ? "On each of the GPUs that share the model" : "");
}

void print_text(const MemoryQuestion& q, const std::vector<ContextRow>& rows) {
  const Config& c = q.shape.config;
  fmt::print("{} on {} GiB\n{}\n{:.4g} bytes a weight, {} bytes a cache element{}\n\n", q.shape.name,
             in_gib(double(q.memory)), description(c), q.shape.weight_bytes, q.shape.cache_bytes, q.shape.cache_note);
  print_parameters(q);
  fmt::print("KV cache of a request: keys and values x layers x tokens x key/value heads x head width x bytes\n");
  for (const int64_t context : q.contexts) {
    const int64_t bytes = bytes_of(cache_elements(c, context), q.shape.cache_bytes);
    fmt::print("  2 x {} x {} x {} x {} x {} = {} bytes = {} GiB\n", c.num_layers, context, c.num_kv_heads, c.head_dim,
               q.shape.cache_bytes, with_commas(bytes), gibibytes(bytes));
  }
  fmt::print("\nLargest batch: the memory less the parameters, over the cache of a request, rounded down\n\n");
  print_rows(q, rows);
}

/// Without a unit 80 could be GB as well as bytes, and the wrong guess is wrong by 2^30.
int64_t parse_memory(const std::string& text) {
  const int64_t bytes = parse_bytes("memory", text);
  if (std::isalpha(static_cast<unsigned char>(text.back()))) return bytes;
  throw UsageError(fmt::format("memory: wanted a size with its unit, such as 80GB or 512MB, found \"{}\"", text));
}

MemoryQuestion question(const CalcMemoryCommand& command) {
  MemoryQuestion q{shape_of(command.model),
                   parse_memory(command.memory),
                   parse_list("context", command.context, parse_tokens),
                   parse_list("tp", command.gpus, parse_count),
                   {}};
  if (q.contexts.empty()) {
    if (std::filesystem::exists(command.model.model))
      q.contexts = {q.shape.config.max_seq_len};
    else
      q.contexts = {1024, 2048, 4096};
  }
  for (const Formula formula : {Formula::exact, Formula::course})
    if (command.formula == "both" || command.formula == name_of(formula)) q.formulas.push_back(formula);
  return q;
}

}  // namespace

int calc_memory(const CalcMemoryCommand& command) {
  const MemoryQuestion q = question(command);
  std::vector<ContextRow> rows;
  for (const int64_t gpus : q.gpus)
    for (const int64_t context : q.contexts) {
      rows.push_back({context, gpus, {}});
      for (const Formula formula : q.formulas) rows.back().answers.push_back(answer(q, context, gpus, formula));
    }
  check_that_one_fits(q, rows);
  if (command.output.csv) {
    print_csv(rows_json(q, rows));
  } else if (command.output.json) {
    const ordered_json report = {{"model", q.shape.name},
                                 {"memory_bytes", q.memory},
                                 {"weight_bytes", q.shape.weight_bytes},
                                 {"cache_bytes", q.shape.cache_bytes},
                                 {"parameters", parameters_json(q)},
                                 {"rows", rows_json(q, rows)}};
    fmt::print("{}\n", pretty(report));
  } else {
    print_text(q, rows);
  }
  return 0;
}

}  // namespace rungs
