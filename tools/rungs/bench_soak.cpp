// rungs bench serve --clients: many clients that ask a server without pause, and what becomes of its memory.
#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench_parts.hpp"
#include "bench_serve.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/units.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

/// What all clients together saw.
struct Soak {
  std::mutex mutex = {};
  int64_t answered = 0, tokens = 0;
  std::map<std::string, int64_t> lost = {};  // how often, by what was wrong
  std::vector<double> first = {}, gaps = {};

  void add(const Seen& seen) {
    const std::lock_guard lock(mutex);
    if (!seen.wrong.empty()) {
      ++lost[seen.wrong];
      return;
    }
    ++answered, tokens += seen.tokens;
    first.push_back(seen.first);
    gaps.insert(gaps.end(), seen.gaps.begin(), seen.gaps.end());
  }
  int64_t lost_requests() const {
    int64_t n = 0;
    for (const auto& [says, count] : lost) n += count;
    return n;
  }
};

/// Bytes of the server.
struct ServerMemory {
  int64_t start = 0, warm = 0, end = 0, most = 0;
};

/// One after the other until it is time to end; each is read to its end.
void ask_without_pause(const BenchServeCommand& command, const Config& config, int64_t client, double end, Soak& soak) {
  std::mt19937_64 random(uint64_t(command.seed * 1'000'003 + client));
  const std::vector<int32_t> prefix = any_prompt(command.shared, config.vocab_size);
  while (now() < end) {
    const Seen seen = ask(command.http, any_request(random, prefix, config), now());
    soak.add(seen);
    if (!seen.wrong.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it may be gone
  }
}

/// Looks at the server's memory now and then. Warm: after a tenth of the time, when all that it needs has been asked.
ServerMemory watch_memory(const std::string& url, int64_t at_start, double begin, double end) {
  ServerMemory memory{at_start, 0, at_start, at_start};
  for (double at = now(); at < end; at = now()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min({1.0, (end - begin) / 20, end - at})));
    try {
      memory.end = server_memory(url).value_or(0);
    } catch (const Error&) {
      continue;  // the clients count what is lost
    }
    memory.most = std::max(memory.most, memory.end);
    if (memory.warm == 0 && now() - begin >= (end - begin) / 10) memory.warm = memory.end;
  }
  return memory;
}

ordered_json to_json(const BenchServeCommand& command, const Soak& soak, const ServerMemory& memory, double seconds) {
  ordered_json j = begin_report("bench serve --clients", command.model, {});
  j["clients"] = command.clients, j["seconds"] = seconds, j["seed"] = command.seed, j["shared"] = command.shared;
  j["answered"] = soak.answered, j["lost"] = soak.lost_requests();
  j["lost_because"] = soak.lost;
  j["requests_per_second"] = double(soak.answered) / seconds, j["tokens_per_second"] = double(soak.tokens) / seconds;
  for (const auto& [name, values] : {std::pair("first_token", &soak.first), std::pair("between_tokens", &soak.gaps)})
    for (const int percent : {50, 95, 99})
      j[fmt::format("{}_p{}", name, percent)] = percentile(*values, percent / 100.0);
  const double median_gap = percentile(soak.gaps, 0.5);
  j["between_tokens_p99_over_p50"] = median_gap > 0 ? percentile(soak.gaps, 0.99) / median_gap : 0;
  j["server_memory"] = {{"start", memory.start}, {"warm", memory.warm}, {"end", memory.end}, {"most", memory.most}};
  return j;
}

void print_table(const BenchServeCommand& command, const ordered_json& j) {
  const auto number = [&](const std::string& key) { return j[key].get<double>(); };
  const auto three = [&](const std::string& name) {
    return fmt::format("{:.1f} / {:.1f} / {:.1f} ms", 1e3 * number(name + "_p50"), 1e3 * number(name + "_p95"),
                       1e3 * number(name + "_p99"));
  };
  const auto bytes = [&](const char* when) { return in_units(j["server_memory"][when].get<int64_t>()); };
  fmt::print("{} at {}: {} clients, {:.0f} s\n\n", shown_path(command.model), command.http, command.clients,
             number("seconds"));
  fmt::print("{:<32}{} ({:.1f} a second)\n", "requests answered", j["answered"].get<int64_t>(),
             number("requests_per_second"));
  fmt::print("{:<32}{}\n", "lost", j["lost"].get<int64_t>());
  for (const auto& [says, count] : j["lost_because"].items())
    fmt::print("{:<32}{} times: {}\n", "", count.get<int64_t>(), says);
  fmt::print("{:<32}{:.0f}\n", "tokens a second", number("tokens_per_second"));
  fmt::print("{:<32}{}\n", "first token, 50/95/99%", three("first_token"));
  fmt::print("{:<32}{}; 99% is {:.1f} times 50%\n", "between tokens, 50/95/99%", three("between_tokens"),
             number("between_tokens_p99_over_p50"));
  fmt::print("{:<32}{} at the start, {} after a tenth of the time, {} at the end, {} at most\n", "memory of the server",
             bytes("start"), bytes("warm"), bytes("end"), bytes("most"));
}

}  // namespace

int bench_soak(const BenchServeCommand& command, const Config& config) {
  const auto at_start = server_memory(command.http);
  if (!at_start) throw Error(command.http + "/metrics: wanted rungs_resident_memory_bytes, found none");
  Soak soak;
  const double begin = now(), end = begin + 60 * command.minutes;
  std::vector<std::thread> clients;
  for (int64_t i = 0; i < command.clients; ++i)
    clients.emplace_back([&, i] { ask_without_pause(command, config, i, end, soak); });
  const ServerMemory memory = watch_memory(command.http, *at_start, begin, end);
  for (std::thread& client : clients) client.join();
  const ordered_json report = to_json(command, soak, memory, now() - begin);
  if (command.json)
    fmt::print("{}\n", pretty(report));
  else
    print_table(command, report);
  if (!command.out.empty()) write_report(command.out, report, "", {});
  return soak.lost_requests() == 0 ? 0 : 1;
}

}  // namespace rungs
