// Measures every rung of every ladder, and whole models. kernel_bench runs the kernels on the processor, gpu_bench on a
// GPU; bench/gpu.sh runs that one and everything around it.
#include <fmt/format.h>

#include <cstring>

#include "bench.hpp"
#include "kernels/device.hpp"

using namespace rungs;
using namespace rungs::bench;

namespace {

constexpr const char* usage =
    R"({0} [--only LADDER] [--seconds S] [--json FILE] [--tiny] [--torch SHAPE=MILLISECONDS]...
Checks and measures every rung of kernels/, and whole models, {1}.
  --only LADDER   only what begins so: copy, read, "matmul f32", "matmul bf16", gemv, softmax, rms_norm, layer_norm, add,
                  silu_mul, rope, embedding, sample, attention, "model 8b"
  --seconds S     for how long a rung is measured; 0.3
  --json FILE     writes all figures there
  --tiny          sizes that only show that everything works
  --torch SHAPE=MILLISECONDS
                  PyTorch's time for the prompt of a model, as bench/torch_prefill.py prints it
)";

struct Wrong : Error {
  using Error::Error;
};

Bench::Options parse(int argc, char** argv) {
  Bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) throw Wrong(word + " wants a value");
      return std::string(argv[++i]);
    };
    if (word == "--only")
      options.only = value();
    else if (word == "--seconds")
      options.seconds = std::stod(value());
    else if (word == "--json")
      options.json = value();
    else if (word == "--tiny")
      options.tiny = true;
    else if (word == "--torch") {
      const std::string given = value();
      const size_t equals = given.find('=');
      if (equals == std::string::npos) throw Wrong("--torch wants SHAPE=MILLISECONDS, found " + given);
      options.torch_milliseconds[given.substr(0, equals)] = std::stod(given.substr(equals + 1));
    } else
      throw Wrong("unknown: " + word);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const char* name = on_gpu ? "gpu_bench" : "kernel_bench";
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    fmt::print(fmt::runtime(usage), name, on_gpu ? "on a GPU" : "on the processor");
    return 0;
  }
  const Bench::Options options = parse(argc, argv);
  require_cuda_device();
  Bench bench(options);
  const std::pair<const char*, void (*)(Bench&)> parts[] = {
      {"copy", measure_copies},  // first: they are the others' yardsticks
      {"read", measure_reads},   {"products", measure_products}, {"few rows", measure_few_rows},
      {"rows", measure_rows},    {"choices", measure_choices},   {"attention", measure_attention},
      {"models", measure_models}};
  for (const auto& [part, measure] : parts) try {
      measure(bench);
    } catch (const std::exception& e) {  // no memory, or a kernel that took the device with it
      bench.ladder(part, "not measured", Unit::byte, 0, "");
      bench.failed(part, e.what());
    }
  bench.within(0, "");
  return bench.finish();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 2;
}
