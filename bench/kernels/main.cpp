// Measures every rung of every ladder, and whole models. kernel_bench runs the kernels on the processor, gpu_bench on a
// GPU; bench/gpu.sh runs that one and everything around it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench.hpp"
#include "kernels/device.hpp"

using namespace rungs;
using namespace rungs::bench;

/// Takes "8b=12.5". \throws CLI::ValidationError
static void take_torch(Bench::Options& options, const std::string& word) {
  const size_t equals = word.find('=');
  char* end = nullptr;
  const double milliseconds = equals == word.npos ? 0 : std::strtod(word.c_str() + equals + 1, &end);
  if (equals == 0 || !(milliseconds > 0) || *end != '\0')
    throw CLI::ValidationError("--torch", "wanted SHAPE=MILLISECONDS, found " + word);
  options.torch_milliseconds[word.substr(0, equals)] = milliseconds;
}

/// After --help, or an argument that is none, the program ends here.
static Bench::Options read(int argc, char** argv) {
  Bench::Options options;
  CLI::App app(fmt::format("Checks and measures every rung of kernels/, and whole models, on {}.",
                           on_gpu ? "a GPU" : "the processor"),
               on_gpu ? "gpu_bench" : "kernel_bench");
  app.add_option(
         "--only", options.only,
         "only what begins so: copy, read, \"matmul f32\", \"matmul bf16\", gemv, softmax, rms_norm, layer_norm, "
         "add, silu_mul, rope, embedding, sample, attention, \"model 8b\"")
      ->type_name("LADDER");
  app.add_option("--seconds", options.seconds, "for how long a rung is measured")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--out", options.out, "writes all figures there")->type_name("FILE.json");
  CLI::deprecate_option(app.add_option("--json", options.out), "--out");  // its name until 2026-11-30
  app.add_flag("--tiny", options.tiny, "sizes that only show that everything works");
  app.add_option_function<std::vector<std::string>>(
         "--torch",
         [&](const std::vector<std::string>& words) {
           for (const std::string& word : words) take_torch(options, word);
         },
         "PyTorch's time for the prompt of a model, as bench/torch_prefill.py prints it")
      ->type_name("SHAPE=MILLISECONDS");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e));
  }
  if (options.out.has_parent_path()) std::filesystem::create_directories(options.out.parent_path());
  return options;
}

int main(int argc, char** argv) try {
  const Bench::Options options = read(argc, argv);
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
