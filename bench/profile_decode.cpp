// Where the time of one decode step goes, and what it allocates.
#include <fmt/format.h>

#include "benchmark.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/measure/allocations.hpp"
#include "rungs/measure/timing_ops.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;

namespace {

constexpr int64_t prompt_tokens = 100, tokens = 512;
constexpr int runs = 15;

struct Decode {
  double seconds = 0;          // from the first token to the last
  int64_t allocations = 0;     // meanwhile
  TimingOps::Sums operations;  // meanwhile
};

Decode decode(Model& model, TimingOps* timing) {
  const std::vector<std::vector<int32_t>> prompts = {std::vector<int32_t>(prompt_tokens, 5)};
  double first = 0, last = 0;
  int64_t before = 0, after = 0;
  generate(model, prompts, {.max_tokens = tokens + 1}, [&](const Step& step) {
    if (step.number == 0) {  // what came before is the prompt's
      if (timing) timing->sums = {};
      before = allocations();
      first = now();
    }
    last = now();
    after = allocations();
  });
  return {last - first, after - before, timing ? timing->sums : TimingOps::Sums{}};
}

/// Of several runs the fastest: what disturbs a run only ever adds to it.
Decode fastest(Model& model, TimingOps* timing) {
  Decode best = decode(model, timing);
  for (int run = 1; run < runs; ++run) {
    Decode next = decode(model, timing);
    if (next.seconds < best.seconds) best = std::move(next);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark("profile_decode", "where the time of a decode step goes, operation by operation");
  std::filesystem::path model = RUNGS_SOURCE_DIR "/weights/decoder";
  benchmark.takes("MODEL", model, "whose steps");
  benchmark.read(argc, argv);
  const std::string directory = model.string();
  CpuOps ops;
  TimingOps timing(ops);
  const Decode plain = fastest(*load_model(ops, directory), nullptr);
  const Decode timed = fastest(*load_model(timing, directory), &timing);

  fmt::print("{}\n{}: {} tokens after a prompt of {}, one sequence, with the cache\n\n", machine(), directory, tokens,
             prompt_tokens);
  fmt::print("{:<22}  {:>13}  {:>10}  {:>6}\n", "operation", "calls a token", "us a token", "share");
  nlohmann::ordered_json operations;
  double inside = 0, products = 0;
  const auto row = [&](const char* name, int64_t calls, double seconds) {
    const double us = seconds / tokens * 1e6, share = seconds / timed.seconds;
    fmt::print("{:<22}  {:>13}  {:>10.2f}  {:>5.1f}%\n", name, calls / tokens, us, 100 * share);
    operations[name] = {{"calls", calls / tokens}, {"microseconds", us}, {"share", share}};
  };
  for (size_t i = 0; i < TimingOps::names.size(); ++i) {
    const TimingOps::Sum& sum = timed.operations[i];
    const std::string_view name = TimingOps::names[i];
    if (sum.calls == 0) continue;
    inside += sum.seconds;
    if (name == "linear" || name == "attention" || name.starts_with("norm_")) products += sum.seconds;
    row(name.data(), sum.calls, sum.seconds);
  }
  row("between and sampling", 0, timed.seconds - inside);

  const double share = products / timed.seconds, per_token = double(plain.allocations) / double(tokens);
  fmt::print("\nproducts and attention     {:.1f}% of the time (wanted: at least 80%)\n", 100 * share);
  fmt::print("allocations a token        {} (wanted: 0)\n", per_token);
  fmt::print("tokens a second            {:.0f}; under the stopwatch {:.0f}\n", tokens / plain.seconds,
             tokens / timed.seconds);
  benchmark.write({{"model", directory},
                   {"prompt_tokens", prompt_tokens},
                   {"tokens", tokens},
                   {"operations", operations},
                   {"share_of_products_and_attention", share},
                   {"allocations_per_token", per_token},
                   {"tokens_per_second", tokens / plain.seconds}});
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "profile_decode: {}\n", e.what());
  return 1;
}
