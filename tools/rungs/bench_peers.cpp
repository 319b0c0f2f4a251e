// rungs bench peers: this library and other engines on the same file, turn by turn.
#include <fmt/format.h>
#include <omp.h>
#include <signal.h>

#include <cmath>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "bench_parts.hpp"
#include "engine_tasks.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/shell.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/checkpoint/llama2c.hpp"
#include "rungs/measure/bandwidth.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// What a program prints. \throws Error when it does not end well
std::string output_of(const std::string& command) {
  const Ran ran = run_command(command);
  if (ran.status > 128 && ran.status <= 128 + SIGRTMAX)
    throw Error(fmt::format("{}: crashed ({})", command, strsignal(ran.status - 128)));
  if (ran.status != 0)
    throw Error(fmt::format("{}: ended with status {}; without the 2>/dev/null it says why", command, ran.status));
  return ran.output;
}

/// A program of llama.cpp, in its folder, in bin, or in build/bin. \throws UsageError
std::string llama_program(const fs::path& folder, const char* name) {
  for (const char* inside : {"", "bin", "build/bin"})
    if (fs::exists(folder / inside / name)) return (folder / inside / name).string();
  throw UsageError(fmt::format("llama-cpp: wanted a folder with {}, in it, in bin or in build/bin, found none in {}",
                               name, folder.string()));
}

/// The number that a line of JSON has under this key. \throws Error
double number_in(const json& object, const char* key, const std::string& command) {
  if (object.is_object() && object.contains(key) && object[key].is_number()) return object[key];
  throw Error(fmt::format("{}: wanted \"{}\" in what it prints, found none", command, key));
}

/// Tokens a second of the first 64, as llama2.c's program says. Its tokenizer.bin lies beside it.
double llama2c(const fs::path& program, const std::string& model, const EngineTask& task) {
  const std::string command = fmt::format("OMP_NUM_THREADS={} {} {} -z {} -t 0 -n 64 2>&1 >/dev/null", task.threads,
                                          shell_word(program.string()), shell_word(model),
                                          shell_word((program.parent_path() / "tokenizer.bin").string()));
  const std::string output = output_of(command), key = "achieved tok/s: ";
  const size_t at = output.rfind(key);
  const double speed = at == std::string::npos ? 0 : std::atof(output.c_str() + at + key.size());
  if (speed <= 0)
    throw Error(fmt::format("{}: wanted \"{}\" and a number in what it prints, found none", command, key));
  return speed;
}

/// Tokens a second of llama.cpp's own benchmarks.
double llama_cpp(const std::string& folder, const std::string& model, const EngineTask& task) {
  const Call& call = task.call;
  const std::string common = fmt::format("-m {} -t {}", shell_word(model), task.threads);
  if (task.kind == EngineTask::Kind::batch) {
    const std::string command =
        fmt::format("{} {} -c 4096 -npp {} -ntg 16 -npl {} --output-format jsonl 2>/dev/null",
                    shell_word(llama_program(folder, "llama-batched-bench")), common, call.past, call.batch);
    std::string output;
    size_t begin = std::string::npos;
    // It loses its output now and then, and ends with status 0 all the same.
    for (int i = 0; i < 5 && begin == std::string::npos; ++i) output = output_of(command), begin = output.find('{');
    if (begin == std::string::npos) throw Error(fmt::format("{}: printed no results, five times", command));
    const std::string line = output.substr(begin, output.find('\n', begin) - begin);
    return number_in(parse_json(line, command), "speed_tg", command);
  }
  const bool prompt = task.kind == EngineTask::Kind::prompt, far = call.past > 64;
  const std::string what = prompt ? fmt::format("-p {} -n 0 -r {}", call.rows, call.rows < 100 ? 10 : 3)
                           : far  ? fmt::format("-p 0 -n 16 -d {} -r 1", call.past)
                                  : "-p 0 -n 64 -r 1";
  const std::string command =
      fmt::format("{} {} {} -o json 2>/dev/null", shell_word(llama_program(folder, "llama-bench")), common, what);
  const json results = parse_json(output_of(command), command);
  return number_in(results.is_array() && !results.empty() ? results[0] : json(), "avg_ts", command);
}

struct PeerTask {
  EngineTask task;
  std::vector<double> ours, theirs, ratios;  // tokens a second
  int noisy = 0;                             ///< rounds in which something else took the memory
};

}  // namespace

int bench_peers(const BenchPeersCommand& command) {
  unsetenv("GOMP_SPINCOUNT");  // the peers' threads wait as their authors left them; ours have read it already
  const bool has_llama2c = !command.llama2c.empty();
  if (has_llama2c == !command.llama_cpp.empty()) throw UsageError("wanted one of --llama-cpp and --llama2c");
  const char *const extension = has_llama2c ? ".bin" : ".gguf", *const peer = has_llama2c ? "llama2.c" : "llama.cpp";
  if (fs::path(command.model).extension() != extension)
    throw UsageError(fmt::format("model: wanted a {}, which {} reads, too, found {}; `rungs convert` makes one",
                                 extension, peer, command.model));
  if (has_llama2c && !fs::exists(command.llama2c))
    throw UsageError(fmt::format("llama2c: wanted its program, called run, found no file {}", command.llama2c));
  if (const int version = has_llama2c ? read_llama2c_header(command.model).version : 0; version != 0)
    throw UsageError(
        fmt::format("model: wanted a .bin of version 0, which llama2.c's run reads, found version {}; `./rungs convert "
                    "--bin-version "
                    "0` makes one",
                    version));
  if (!has_llama2c)
    for (const char* name : {"llama-bench", "llama-batched-bench"}) llama_program(command.llama_cpp, name);
  if (command.rounds < 1 || command.rounds > 100)
    throw UsageError(fmt::format("rounds: wanted 1 to 100, found {}", command.rounds));
  EngineBench bench(command.model, omp_get_max_threads(), has_llama2c ? DType::f32 : DType::f16);  // as theirs
  std::vector<PeerTask> all;
  for (const EngineTask& task : bench.tasks())
    if ((!has_llama2c || task.name() == "decode") && task.name().find(command.only) != std::string::npos)
      all.push_back({task, {}, {}, {}});
  if (all.empty() && command.only.empty())
    throw UsageError(
        fmt::format("{}: wanted a context of more than 64 tokens to measure decoding, found fewer", command.model));
  if (all.empty()) throw UsageError(fmt::format("only: wanted a part of a name in the table, found {}", command.only));
  std::exception_ptr peer_failed;
  try {
    Progress progress("Measuring", command.rounds * int64_t(all.size()));
    for (int64_t round = 0; round < command.rounds; ++round)
      for (PeerTask& c : all) {
        const double before = bandwidth(c.task.threads);
        const double ours = c.task.tokens() / bench.seconds(c.task);
        const double theirs = has_llama2c ? llama2c(command.llama2c, command.model, c.task)
                                          : llama_cpp(command.llama_cpp, command.model, c.task);
        if (!agree(before, bandwidth(c.task.threads))) ++c.noisy;
        c.ours.push_back(ours), c.theirs.push_back(theirs), c.ratios.push_back(ours / theirs);
        progress.advance();
      }
  } catch (const Error&) {  // what was measured before is printed first
    peer_failed = std::current_exception();
    std::erase_if(all, [](const PeerTask& c) { return c.ratios.empty(); });
    if (all.empty()) throw;
  }
  ordered_json report = begin_report("bench peers", command.model, {});
  report["peer"] = peer;
  const size_t rounds = all.front().ratios.size();  // less than wanted where the peer failed
  report["rounds"] = rounds;
  if (!command.json)
    fmt::print("{} on {}, rounds: {}; tokens a second, medians\n\n{:<22}{:>8}{:>10}{:>12}{:>8}{:>16}{:>8}\n",
               shown_path(command.model), machine(), rounds, "", "threads", "Rungs", peer, "ratio", "from ... to",
               "noisy");
  for (const PeerTask& c : all) {
    const auto [least, most] = std::minmax_element(c.ratios.begin(), c.ratios.end());
    report["tasks"].push_back({{"task", c.task.name()},
                               {"threads", c.task.threads},
                               {"rungs", median(c.ours)},
                               {"peer", median(c.theirs)},
                               {"ratio", median(c.ratios)},
                               {"least_ratio", *least},
                               {"largest_ratio", *most},
                               {"noisy_rounds", c.noisy}});
    if (!command.json)
      fmt::print("{:<22}{:>8}{:>10}{:>12}{:>8.2f}{:>16}{:>8}\n", c.task.name(), c.task.threads,
                 in_four_digits(median(c.ours)), in_four_digits(median(c.theirs)), median(c.ratios),
                 fmt::format("{:.2f} ... {:.2f}", *least, *most), c.noisy);
  }
  if (command.json) fmt::print("{}\n", pretty(report));
  if (!command.out.empty()) write_report(command.out, report, "", {});
  if (peer_failed) std::rethrow_exception(peer_failed);
  return 0;
}

}  // namespace rungs
