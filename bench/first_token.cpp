// How long a person waits for the first token of a large model, and how much memory it takes: the command itself, run.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "benchmark.hpp"
#include "folder.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"

using namespace rungs;

namespace {

constexpr int runs = 7;
constexpr int64_t context = 64;

struct Waited {
  double seconds = 0;
  int64_t peak = 0;  // bytes, the mapped file among them
};

Waited generate_one(const std::string& model) {
  const double start = now();
  const pid_t child = fork();
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stdout)) _exit(1);
    execl(RUNGS_COMMAND, "rungs", "generate", "--model", model.c_str(), "--max-tokens", "1", "--context",
          fmt::format("{}", context).c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  struct rusage usage {};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) throw Error("rungs generate failed");
  return {now() - start, int64_t(usage.ru_maxrss) * 1024};
}

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark("first_token", "seconds to the first token of a model of 1B parameters, and its peak memory");
  std::filesystem::path given;
  benchmark.takes("DIR", given, "a model of `rungs random-model DIR --shape 1b`; otherwise one is made");
  benchmark.read(argc, argv);
  const Folder folder;
  const std::filesystem::path model = given.empty() ? folder.path : given;
  const Config config = *preset("1b");
  if (given.empty()) save_random_llama(model, config, DType::bf16, 1);
  generate_one(model);  // brings the file into the page cache
  std::vector<double> seconds;
  int64_t peak = 0;
  for (int i = 0; i < runs; ++i) {
    const Waited run = generate_one(model);
    seconds.push_back(run.seconds), peak = std::max(peak, run.peak);
  }
  std::sort(seconds.begin(), seconds.end());
  const auto file = int64_t(std::filesystem::file_size(model / "model.safetensors"));
  const int64_t cache =
      config.num_layers * config.num_kv_heads * config.head_dim * 2 * int64_t(sizeof(float)) * context;
  const double share = double(peak) / double(file + cache);
  fmt::print("{}\nrungs generate --model {} --max-tokens 1 --context {}, a file of {:.2f} GB\n\n", machine(),
             model.string(), context, double(file) * 1e-9);
  fmt::print("first token after   {:.2f} s (median of {}; {:.2f} to {:.2f}; wanted: within 2)\n", seconds[runs / 2],
             runs, seconds.front(), seconds.back());
  fmt::print("peak memory         {:.2f} GB, {:.3f} of the file and the cache (wanted: at most 1.15)\n",
             double(peak) * 1e-9, share);
  benchmark.write({{"shape", "1b"},
                   {"dtype", "bf16"},
                   {"context", context},
                   {"file_bytes", file},
                   {"cache_bytes", cache},
                   {"seconds", seconds},
                   {"median_seconds", seconds[runs / 2]},
                   {"peak_bytes", peak},
                   {"peak_of_file_and_cache", share}});
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "first_token: {}\n", e.what());
  return 1;
}
