// What several commands have: how one is added, and options that mean the same everywhere.
#include <fmt/format.h>

#include <cstdio>

#include "command_line.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/processor.hpp"

namespace rungs {

CLI::App* add_command(CommandLine& line, CLI::App& parent, const char* group, const char* name, const char* says,
                      std::function<int()> does) {
  CLI::App* command = parent.add_subcommand(name, says)->group(group);
  command->final_callback([&line, does] { line.chosen = does; });
  return command;
}

CLI::Option* add_threads(CLI::App* command) {
  return command
      ->add_option_function<int>("--threads", use_threads, "to compute with; otherwise one for each processor")
      ->check(CLI::Range(1, 1024));
}

void add_exact(CLI::App* command) {
  command->add_flag_callback(
      "--exact", [] { use_exact_products(); },
      "keep activations in f32 beside bf16 weights, where the CPU or GPU is faster with bf16");
}

CLI::Option* add_cache_dtype(CLI::App* command, DType& dtype) {
  const std::map<std::string, DType> dtypes = {
      {"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}, {"q8_0", DType::q8_0}};
  return command
      ->add_option_function<std::string>(
          "--cache-dtype", [&dtype, dtypes](const std::string& name) { dtype = dtypes.at(name); },
          "of the KV cache: in 16 or 8 bits long texts take less memory, and less time")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "q8_0"}))
      ->default_str("f32");
}

void add_device(CLI::App* command, DeviceChoice& device, char** argv, bool naive) {
  device.argv = argv;
  const char* says = naive ? "what computes; cuda-naive: with the first rung of each kernel" : "what computes";
  std::vector<std::string> backends = {"cpu", "cuda"};
  if (naive) backends.insert(backends.begin() + 1, "cuda-naive");
  CLI::Option* backend =
      command->add_option("--backend", device.backend, says)->check(CLI::IsMember(backends))->capture_default_str();
  command->add_option("--on", device.on, "where CUDA kernels run: on a GPU, or emulated on this machine's processor")
      ->transform([argv](const std::string& where) {
        if (where != "host") return where;
        fmt::print(stderr, "--on host is called --on emulator now\n");
        static char whole[] = "--on=emulator", *const value = whole + 5;
        for (char** word = argv + 1; *word; ++word) {  // what rungs becomes reads it again, and says nothing more
          if (std::string_view(*word) == "--on=host") *word = whole;
          if (std::string_view(word[-1]) == "--on" && std::string_view(*word) == "host") *word = value;
        }
        return std::string("emulator");
      })
      ->check(CLI::IsMember({"gpu", "emulator"}))
      ->needs(backend)
      ->capture_default_str();
}

}  // namespace rungs
