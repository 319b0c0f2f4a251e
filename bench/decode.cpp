// How fast a LLaMA decodes: forward passes alone, beside the bandwidth of the memory measured in the same seconds.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "benchmark.hpp"
#include "folder.hpp"
#include "rungs/measure/bandwidth.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;

namespace {

constexpr int runs = 9, least_runs = 5, most_runs = 40;

/// Tokens of one repetition: so few that the memory stays as it is meanwhile.
int64_t tokens_of(std::string_view shape) { return shape == "stories15M" ? 48 : 12; }

/// What one forward pass of one row reads: every weight once, the embedding as one row unless it is the output too;
/// and the keys and values of `past` tokens.
double bytes_a_token(const LlamaCheckpoint& model, double past) {
  double bytes = 0;
  const LlamaWeights& w = model.weights;
  for (const LlamaLayer& l : w.layers)
    for (const ConstTensor* t :
         {&l.attention_norm, &l.qkv.q, &l.qkv.k, &l.qkv.v, &l.o, &l.ffn_norm, &l.gate_up.gate, &l.gate_up.up, &l.down})
      bytes += double(t->bytes());
  bytes += double(w.final_norm.bytes()) + double(w.output.bytes());
  const Config& c = model.config;
  return bytes + past * double(c.num_layers * c.num_kv_heads * c.head_dim) * 2 * sizeof(float);
}

struct Result {
  double tokens_per_second = 0, share = 0, gigabytes_per_second = 0;
  int kept = 0, tried = 0;
};

/// Repetitions between two probes; where these differ by more than 5% something else took the memory, and the
/// repetition is dropped.
Result decode(Llama& model, int64_t tokens, double bytes, int threads) {
  omp_set_num_threads(threads);
  KvCache cache(model.backend().device, model.config(), 1, tokens);
  Tensor logits = model.backend().device.allocate({1, model.config().vocab_size});
  Batch batch;
  const auto pass = [&] {
    for (int64_t position = 0; position < tokens; ++position) {
      const auto token = int32_t(position * 7 % model.config().vocab_size);
      batch.clear();
      batch.add(0, std::span(&token, 1), position, true);
      model.forward(logits, batch, &cache);
    }
  };
  pass();  // the pages of the file, the threads
  std::vector<double> speeds, shares, probes;
  Result r;
  for (double before = bandwidth(threads); r.kept < runs && r.tried < most_runs; ++r.tried) {
    const double start = now();
    pass();
    const double speed = double(tokens) / (now() - start), after = bandwidth(threads);
    const double memory = (before + after) / 2;
    if (agree(before, after)) {
      speeds.push_back(speed), shares.push_back(speed * bytes / memory), probes.push_back(memory);
      ++r.kept;
    }
    before = after;
  }
  if (r.kept < least_runs) return r;
  r.tokens_per_second = median(speeds), r.share = median(shares), r.gigabytes_per_second = median(probes) * 1e-9;
  return r;
}

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark("decode",
                      "tokens a second of LLaMAs of 15M and 110M parameters, and the share of the memory's bandwidth");
  benchmark.read(argc, argv);
  fmt::print("{}; tokens from position 0, one sequence, forward passes alone\n\n", machine());
  fmt::print("{:<13} {:<5} {:>7} {:>10} {:>8} {:>11} {:>7}\n", "shape", "dtype", "threads", "tokens/s", "GB/s",
             "of memory's", "kept");
  nlohmann::ordered_json rows;
  const int most_threads = omp_get_max_threads();
  for (const char* shape : {"stories15M", "stories110M"})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Folder folder;
      save_random_llama(folder.path, *preset(shape), dtype, 1);
      CpuOps ops;
      Llama model(ops, folder.path, {.max_rows = 1});
      const int64_t tokens = tokens_of(shape);
      const double bytes = bytes_a_token(LlamaCheckpoint(folder.path), double(tokens + 1) / 2);
      for (int threads = 1; threads <= most_threads; ++threads) {
        const Result r = decode(model, tokens, bytes, threads);
        const std::string kept = fmt::format("{}/{}", r.kept, r.tried);
        if (r.kept < least_runs)
          fmt::print("{:<13} {:<5} {:>7} {:>10} {:>8} {:>11} {:>7}\n", shape, name_of(dtype), threads, "too noisy", "",
                     "", kept);
        else
          fmt::print("{:<13} {:<5} {:>7} {:>10.0f} {:>8.1f} {:>10.0f}% {:>7}\n", shape, name_of(dtype), threads,
                     r.tokens_per_second, r.gigabytes_per_second, 100 * r.share, kept);
        rows.push_back({{"shape", shape},
                        {"dtype", name_of(dtype)},
                        {"threads", threads},
                        {"tokens", tokens},
                        {"tokens_per_second", r.tokens_per_second},
                        {"memory_gigabytes_per_second", r.gigabytes_per_second},
                        {"share_of_memory", r.share},
                        {"kept", r.kept},
                        {"tried", r.tried}});
      }
    }
  benchmark.write({{"rows", rows}});
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "decode: {}\n", e.what());
  return 1;
}
