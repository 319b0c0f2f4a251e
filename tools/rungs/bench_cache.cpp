// rungs bench cache: how long it takes to generate with and without the KV cache.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench_parts.hpp"
#include "engine.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

constexpr int64_t fixed_prompt = 100;                         // tokens before those of the second table
constexpr int64_t generated[] = {16, 32, 64, 128, 256, 512};  // its rows

struct Row {
  int64_t prompt, tokens;
  Timing without, with;
  double ratio() const { return without.seconds / with.seconds; }
};

Row measure_row(Model& model, int64_t prompt, int64_t tokens, Progress& progress) {
  const std::vector<std::vector<int32_t>> prompts = {any_prompt(prompt, model.config().vocab_size)};
  const auto timed = [&](bool cache) {
    GenerateOptions options;
    options.max_tokens = tokens;
    options.cache = cache;
    const Timing timing = measure([&] { generate(model, prompts, options); });
    progress.advance();
    return timing;
  };
  return {prompt, tokens, timed(false), timed(true)};
}

void print_table(const std::string& title, const char* column, const std::vector<Row>& rows, int64_t Row::*length) {
  fmt::print("{}\n\n{:>18}  {:>12}  {:>12}  {:>8}\n", title, column, "without (s)", "with (s)", "ratio");
  for (const Row& row : rows)
    fmt::print("{:>18}  {:>12.4f}  {:>12.4f}  {:>7.1f}x\n", row.*length, row.without.seconds, row.with.seconds,
               row.ratio());
  fmt::print("\n");
}

ordered_json to_json(const std::vector<Row>& rows) {
  ordered_json list = ordered_json::array();
  for (const Row& row : rows)
    list.push_back({{"prompt", row.prompt},
                    {"tokens", row.tokens},
                    {"seconds_without", row.without.seconds},
                    {"seconds_with", row.with.seconds},
                    {"ratio", row.ratio()},
                    {"runs_without", row.without.runs},
                    {"runs_with", row.with.runs}});
  return list;
}

Panel panel(const std::string& title, const std::string& x_label, const std::vector<Row>& rows, int64_t Row::*length) {
  std::vector<double> x, without, with;
  for (const Row& row : rows) {
    x.push_back(double(row.*length));
    without.push_back(row.without.seconds), with.push_back(row.with.seconds);
  }
  return without_and_with(title, x_label, "time (seconds)", x, without, with);
}

/// The curve with the cache by itself, which lies on the axis beside the other.
Panel with_alone(const Panel& both) {
  Curve with = both.curves[1];
  for (double& y : with.y) y *= 1e3;
  return {"the same, with the KV cache alone", both.x_label, "time (milliseconds)", {with}};
}

void check(const BenchCacheCommand& command, const Config& config) {
  if (command.tokens < 1) throw UsageError(fmt::format("tokens: wanted at least 1, found {}", command.tokens));
  for (const int64_t length : command.lengths) {
    if (length < 1) throw UsageError(fmt::format("lengths: wanted at least 1, found {}", length));
    if (length > config.max_seq_len - command.tokens)
      throw UsageError(
          fmt::format("lengths: a prompt of {} and {} tokens more are past the end of the model's context "
                      "of {}",
                      length, command.tokens, config.max_seq_len));
  }
}

}  // namespace

int bench_cache(const BenchCacheCommand& command) {
  const std::unique_ptr<Model> model = load_model(backend_of(command.device), command.model);
  const int64_t context = model->config().max_seq_len;
  check(command, model->config());
  std::vector<int64_t> counts;
  for (const int64_t count : generated)
    if (fixed_prompt + count <= context) counts.push_back(count);

  std::vector<Row> by_length, by_tokens;
  {
    Progress progress("measuring", 2 * int64_t(command.lengths.size() + counts.size()));
    for (const int64_t length : command.lengths)
      by_length.push_back(measure_row(*model, length, command.tokens, progress));
    for (const int64_t count : counts) by_tokens.push_back(measure_row(*model, fixed_prompt, count, progress));
  }
  ordered_json report = begin_report("rungs bench cache", command.model, command.device);
  report["by_prompt_length"] = to_json(by_length);
  report["by_tokens_generated"] = to_json(by_tokens);
  const std::string first = fmt::format("{} tokens generated after a prompt of each length", command.tokens);
  const std::string second = fmt::format("tokens generated after a prompt of {}", fixed_prompt);
  std::vector<Panel> panels = {panel(first, "length of the prompt (tokens)", by_length, &Row::prompt)};
  if (!by_tokens.empty()) panels.push_back(panel(second, "generated (tokens)", by_tokens, &Row::tokens));
  std::vector<Panel> drawn = panels;
  drawn.push_back(with_alone(panels.back()));
  write_report(command.out, report, "Time to generate, with and without the KV cache", drawn);
  if (command.json) {
    fmt::print("{}\n", pretty(report));
    return 0;
  }
  fmt::print("{}\n\n", machine());
  print_table(first, "prompt (tokens)", by_length, &Row::prompt);
  if (!by_tokens.empty()) print_table(second, "generated (tokens)", by_tokens, &Row::tokens);
  if (counts.size() < std::size(generated))
    fmt::print("The model's context of {} ends before {} tokens after a prompt of {}.\n\n", context,
               generated[counts.size()], fixed_prompt);
  show_report(command.out, panels);
  return 0;
}

}  // namespace rungs
