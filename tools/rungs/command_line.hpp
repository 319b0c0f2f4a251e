/// What the command line is made of. Only the files that include this compile CLI11, which takes seconds.
#pragma once

#include <CLI/CLI.hpp>

#include "commands.hpp"

namespace rungs {

inline const std::string decoder = RUNGS_SOURCE_DIR "/weights/decoder", stories = RUNGS_SOURCE_DIR "/weights/stories";

/// As Meta's own program for LLaMA generates.
inline GenerateOptions usual_options() {
  GenerateOptions options;
  options.sampling.temperature = 0.6;
  options.sampling.top_p = 0.9;
  options.max_tokens = 64;
  return options;
}

struct CommandLine {
  char** argv;
  CLI::App app{"Rungs: a transformer, step by step.", "rungs"};
  std::string lesson = {};
  bool list_as_json = false;
  bool blank = false;    // of start
  bool stretch = false;  // of start, check and watch
  HintCommand hint = {};
  ReadCommand read = {};
  CheckCommand check = {};
  RunCommand run = {};
  std::string shell = {};                          // of completion
  std::vector<std::string> completion_words = {};  // those before the one to complete
  GradeOptions grade = {};
  HandoutCommand handout = {};
  CasesCommand cases = {};
  ProfileCommand profile = {};
  ShowCommand show = {};
  GenerateCommand generate{.model = stories, .options = usual_options()};
  ServeCommand server{.model = stories};
  LogitsCommand logits{.model = stories};
  TokenizeCommand tokenize{};
  BenchCacheCommand cache{decoder, {10, 50, 100, 500, 1000}, 64, RUNGS_SOURCE_DIR "/bench/results/cache.json"};
  BenchBatchCommand batch{.model = stories, .batches = {1, 8, 16}, .out = RUNGS_SOURCE_DIR "/bench/results/batch.json"};
  BenchEngineCommand engine{.model = stories};
  BenchServeCommand serve{.model = stories};
  BenchPagedCommand paged{.model = stories};
  BenchPeersCommand peers = {};
  RandomModelCommand random = {};
  InspectCommand inspect = {};
  ConvertCommand convert = {};
  CalcMemoryCommand calc_memory = {};
  CalcIntensityCommand calc_intensity = {};
  CalcRooflineCommand calc_roofline = {};
  std::function<int()> chosen = {};
};

inline constexpr const char* stretch_help = "not the lesson but its stretch, where it has one: it counts nowhere";

/// A command that `does` something once everything was parsed.
CLI::App* add_command(CommandLine& line, CLI::App& parent, const char* group, const char* name, const char* says,
                      std::function<int()> does);
CLI::Option* add_threads(CLI::App* command);
void add_exact(CLI::App* command);
CLI::Option* add_cache_dtype(CLI::App* command, DType& dtype);
/// `naive`: cuda-naive can be chosen; it reads no paged KV cache.
void add_device(CLI::App* command, DeviceChoice& device, char** argv, bool naive = true);

/// list, start, check, run, grade and what else a lesson takes.
void add_learning(CommandLine& line);
/// What grade takes for a whole class.
void add_class(CommandLine& line, CLI::App* grade);
/// watch, hint, read, progress, completion.
void add_learning_aids(CommandLine& line);
void add_show(CommandLine& line);
/// handout, cases.
void add_teaching(CommandLine& line);

/// The commands that use a model, and those about its files.
///@{
void add_use(CommandLine& line);
void add_files(CommandLine& line);
///@}

/// The commands that measure and those that calculate.
///@{
void add_measuring(CommandLine& line);
void add_calc(CommandLine& line);
///@}

/// CLI11 has no "did you mean": what begins the command line must be a command, and what begins with -- an option of
/// it. \throws UsageError
void check_words(CLI::App& app, std::span<char*> words);
/// Once every option is there. By itself CLI11 reads 012 as octal, nothing as 0, and of a number that does not fit, or
/// of a negative seed, the largest.
void read_numbers_as_people_do(CLI::App& app);

}  // namespace rungs
