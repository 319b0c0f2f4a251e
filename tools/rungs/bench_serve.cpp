// rungs bench serve: many requests on one model, in static and in continuous batches, with and without shared prefixes.
#include "bench_serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "bench_parts.hpp"
#include "engine.hpp"
#include "need.hpp"
#include "rungs/base/json.hpp"
#include "rungs/batching/batch_engine.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

using nlohmann::ordered_json;

Request any_request(std::mt19937_64& random, const std::vector<int32_t>& prefix, const Config& config) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto length = [&](int64_t least, int64_t most) {
    return int64_t(double(least) * std::pow(double(most) / double(least), uniform(random)));
  };
  const int64_t longest = config.max_seq_len / 2;
  Request r;
  r.prompt = prefix;
  for (int64_t n = length(8, longest - int64_t(prefix.size())); n > 0; --n)
    r.prompt.push_back(int32_t(random() % uint64_t(config.vocab_size)));
  r.max_tokens = length(8, longest);
  return r;
}

namespace {

/// Poisson arrivals.
std::vector<Arrival> arrivals(const BenchServeCommand& command, const Config& config) {
  std::mt19937_64 random(uint64_t(command.seed));
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::vector<int32_t> prefix = any_prompt(command.shared, config.vocab_size);
  std::vector<Arrival> list;
  double time = 0;
  for (int64_t i = 0; i < command.requests; ++i) {
    if (command.rate > 0) time += -std::log(1 - uniform(random)) / command.rate;
    list.push_back({time, any_request(random, prefix, config)});
  }
  return list;
}

Served serve(Model& model, const std::vector<Arrival>& trace, const BatchingOptions& options) {
  BatchEngine engine(model, options);
  Served s;
  std::vector<double> last(trace.size());  // of each request: when it came, then when it got its last token
  std::vector<bool> began(trace.size());
  const double begin = now();
  const auto time = [&] { return now() - begin; };
  for (size_t next = 0; next < trace.size() || !engine.idle();) {
    for (; next < trace.size() && trace[next].time <= time(); ++next)
      last[size_t(engine.submit(trace[next].request))] = trace[next].time;  // ids count from 0
    if (engine.idle()) {
      std::this_thread::sleep_for(std::chrono::duration<double>(trace[next].time - time()));
      continue;
    }
    for (const DrawnToken& d : engine.step()) {
      const auto id = size_t(d.id);
      const double at = time();
      (began[id] ? s.gaps : s.first).push_back(at - last[id]);
      last[id] = at, began[id] = true;
      ++s.tokens;
    }
  }
  s.seconds = time();
  s.scheduler = engine.stats().scheduler_seconds / engine.stats().seconds;
  s.found = engine.scheduler().found_tokens();
  return s;
}

struct Mode {
  const char* name;
  bool continuous, prefix_caching;
  std::string BenchServeCommand::*server = nullptr;  ///< which is asked over HTTP; null: the engine in this process
};
constexpr Mode modes[] = {{"static batches", false, false},
                          {"continuous batches", true, false},
                          {"continuous, shared prefixes", true, true},
                          {"over HTTP", true, true, &BenchServeCommand::http},
                          {"the peer, over HTTP", true, true, &BenchServeCommand::peer}};

ordered_json to_json(const Mode& mode, const Served& s, int64_t requests) {
  ordered_json j{{"mode", mode.name},
                 {"seconds", s.seconds},
                 {"requests_per_second", double(requests) / s.seconds},
                 {"tokens_per_second", double(s.tokens) / s.seconds},
                 {"prompt_tokens_found", s.found},
                 {"scheduler_share", s.scheduler}};
  for (const auto& [name, values] : {std::pair("first_token", &s.first), std::pair("between_tokens", &s.gaps)})
    for (const int percent : {50, 95, 99})
      j[fmt::format("{}_p{}", name, percent)] = percentile(*values, percent / 100.0);
  return j;
}

void check(const BenchServeCommand& command, const Config& config) {
  const int64_t most = config.max_seq_len / 2 - 8;
  need("--model", most >= 8, "a context of at least 32 tokens", config.max_seq_len);
  need("--requests", command.requests >= 1 && command.requests <= 100'000, "1 to 100000", command.requests);
  need("--slots", command.slots >= 1 && command.slots <= 1024, "1 to 1024", command.slots);
  need("--rate", command.rate >= 0 && std::isfinite(command.rate), "a number of at least 0", command.rate);
  need("--clients", command.clients >= 0 && command.clients <= 1024, "1 to 1024", command.clients);
  need("--minutes", command.minutes > 0 && command.minutes <= 1440, "a number above 0, 1440 at most", command.minutes);
  if (command.clients > 0 && command.http.empty())
    throw UsageError("--clients: wanted --http URL, too, of the server that they ask");
  need("--shared", command.shared >= 0 && command.shared <= most, fmt::format("0 to {}", most), command.shared);
}

}  // namespace

int bench_serve(const BenchServeCommand& command) {
  const Config config = load_config(command.model);
  check(command, config);
  if (command.clients > 0) return bench_soak(command, config);
  for (const std::string& url : {command.http, command.peer})
    if (!url.empty()) check_answers(url);
  BatchingOptions options{.block_size = usual_block_size(config),
                          .max_running = command.slots,
                          .max_rows = std::max<int64_t>(256, command.slots)};
  options.blocks = command.slots * ((config.max_seq_len + options.block_size - 1) / options.block_size);
  const auto model = load_model(backend_of(command.device), command.model, {.max_rows = options.max_rows});
  const std::vector<Arrival> trace = arrivals(command, config);

  ordered_json report = begin_report("bench serve", command.model, command.device);
  report["requests"] = command.requests, report["slots"] = command.slots, report["rate"] = command.rate;
  report["shared"] = command.shared, report["seed"] = command.seed;
  if (!command.json)
    fmt::print("{} on {}: {} requests, {} at once\n\n{:<28}{:>10}{:>12}{:>24}{:>24}{:>11}\n", shown_path(command.model),
               machine(), command.requests, command.slots, "", "tokens/s", "requests/s", "first token, 50/95/99%",
               "between, 50/95/99%", "scheduler");
  for (const Mode& mode : modes) {
    if (mode.server && (command.*mode.server).empty()) continue;
    options.continuous = mode.continuous, options.prefix_caching = mode.prefix_caching;
    const Served s = mode.server ? serve_over_http(command.*mode.server, trace) : serve(*model, trace, options);
    report["modes"].push_back(to_json(mode, s, command.requests));
    if (command.json) continue;
    const auto three = [](const std::vector<double>& v) {
      return fmt::format("{:.0f} / {:.0f} / {:.0f} ms", 1e3 * percentile(v, 0.5), 1e3 * percentile(v, 0.95),
                         1e3 * percentile(v, 0.99));
    };
    fmt::print("{:<28}{:>10.0f}{:>12.1f}{:>24}{:>24}{:>10.2f}%\n", mode.name, double(s.tokens) / s.seconds,
               double(command.requests) / s.seconds, three(s.first), three(s.gaps), 100 * s.scheduler);
    std::fflush(stdout);
  }
  if (command.json) fmt::print("{}\n", pretty(report));
  if (!command.out.empty()) write_report(command.out, report, "", {});
  return 0;
}

}  // namespace rungs
