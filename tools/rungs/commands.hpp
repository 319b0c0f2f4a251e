/// What the commands of `rungs` do, apart from reading the command line. Each returns the exit status, or throws.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "rungs/generate/generate.hpp"
#include "rungs/model/generation_config.hpp"

namespace rungs {

/// What a command computes with.
struct DeviceChoice {
  std::string backend = "cpu";  ///< "cpu", "cuda-naive", "cuda"
  std::string on = "gpu";       ///< where the kernels of a cuda backend run: "gpu", "emulator"
  char** argv = nullptr;        ///< the command line, for the program that has the kernels of a GPU
};

/// Says on stderr what went wrong, in one line. Returns the exit status.
int report_error(const std::exception& error);

/// \name Learn
///@{
int list_lessons(bool json);
struct RunCommand {
  std::string lesson = {};               ///< a number ("6", "06"), a name, or the beginning of one
  bool mine = false, solution = false;   ///< whose code; neither: the learner's where it passed
  std::string on = "emulator";           ///< of a lesson about CUDA: "emulator", "gpu"
  std::optional<std::string> text = {};  ///< what goes in, in place of the program's own
};
int run_lesson(const RunCommand& command);
int start_lesson(const std::string& lesson, bool blank);  ///< blank: signatures alone
struct CheckCommand {
  std::string lesson = {};      ///< "": the one whose file was saved last
  std::string on = "emulator";  ///< of a lesson about CUDA: "emulator", "ptx", "gpu"
};
int check_lesson(const CheckCommand& command);
int watch_lesson(const std::string& lesson);  ///< as of check
int reset_lesson(const std::string& lesson);

struct HintCommand {
  std::string lesson;  ///< "": as of check
  bool all = false;    ///< every hint, in place of the next
};
int hint_lesson(const HintCommand& command);
struct ReadCommand {
  std::string lesson = {};   ///< "": as of check
  std::string html = {};     ///< a file to write, in place of showing the page
  bool in_terminal = false;  ///< also where there is a browser
};
int read_lesson(const ReadCommand& command);
int show_progress(bool json);

struct GradeOptions {
  std::vector<std::string> lessons;  ///< none: all
  std::string suite;                 ///< "": both; "evaluate"; "kv_evaluate"
  bool json = false;
  bool strength = false;  ///< grade the suites instead: does every known mistake fail?
  bool naming = false;    ///< grade the names instead: what is said of versions that were written freely?

  std::string submissions = {};  ///< a folder: grade what others handed in, instead
  std::string out = {};          ///< the folder for the report on them
  int jobs = 0;                  ///< how many of them at a time; 0: one for each processor
  uint64_t draw_seed = 0;        ///< of the inputs that are drawn for it; 0: one that nobody knows
  bool without_walls = false;    ///< also where submissions cannot be kept from the files of who grades
  bool junit = false;            ///< a report for test viewers, too: of a class junit.xml beside the others,
  std::string junit_file = {};   ///< of own files this one
  std::string cases = {};        ///< grade on those of this folder, which `rungs cases new` has written
};
int grade_lessons(const GradeOptions& options);
int grade_class(const GradeOptions& options);
int grade_naming(const std::vector<std::string>& lessons, bool json);

/// Cases that learners have not seen, of lessons 01 to 13.
struct CasesCommand {
  int64_t seed = 0;
  std::string out = {};           ///< the folder to write, which must be empty or not there
  std::string lessons = "01-13";  ///< "01-05,07"
};
/// \throws UsageError where python3 has no PyTorch, and for lessons that have no such cases
int new_cases(const CasesCommand& command);

/// A tree for learners: lessons without their solutions.
struct HandoutCommand {
  std::string out = {};           ///< the folder to write, which must be empty or not there
  std::string lessons = "01-13";  ///< "01-05,14"
};
/// \throws UsageError where a lesson builds on one that is left out, is about CUDA, or has no solution itself
int write_handout(const HandoutCommand& command);

struct ProfileCommand {
  std::string lesson;
  bool json = false;
  std::string svg = {};         ///< a file to draw into: the lanes of one line's request, and the memory they touch
  int line = 0;                 ///< which; 0: the one that wastes most
  bool solution = false;        ///< of the solution, even where the learner's file is there
  bool nothing_built = false;   ///< what is there is used: the build itself asks
  std::string on = "emulator";  ///< "emulator": transactions are counted; "gpu": times are measured, too
};
int profile_lesson(const ProfileCommand& command);

/// Draws a lesson, a model, or what is wrong with the learner's answer.
struct ShowCommand {
  std::string lesson = {};               ///< or
  std::string model = {};                ///< a directory, a .bin of llama2.c or a .gguf
  std::string tokenizer = {};            ///< "": the model's
  std::optional<std::string> text = {};  ///< none: a usual one
  std::string tap = {};                  ///< of --diff; "": the first that differs
  std::string html = {};                 ///< a page to write; "": on the terminal
  bool mine = false;                     ///< from the learner's code, not from the solution
  bool diff = false;                     ///< the learner's answer beside the reference
  bool fragment = false;                 ///< of the page only what goes into another, and build nothing
  bool json = false;
};
int show(const ShowCommand& command);
///@}

/// \name Use
///@{
struct GenerateCommand {
  std::string model = {};                 ///< directory, or a .bin of llama2.c
  std::string tokenizer = {};             ///< "": the model's
  std::vector<std::string> prompts = {};  ///< none: the model begins by itself
  std::string prompts_file = {};          ///< instead of prompts: one a line
  GenerateOptions options = {};
  SamplingWishes sampling = {};  ///< as asked for; what is absent: as the model's file has it, or else `options`
  bool echo = false;             ///< the prompt stands before what was made
  bool interactive = false;      ///< prompts come line by line
  bool trace = false;            ///< show what every step fed
  bool stats = false;            ///< how fast it was, also where nobody looks
  bool json = false;
  bool mine = false;             ///< on the learner's code
  bool tensor_parallel = false;  ///< the processes of mpirun share the model
  double rank_timeout = 10;      ///< seconds after which one that does not answer is given up
  int threads = 0;               ///< as the command line says; 0: nothing
  std::string draft = {};        ///< a smaller model that guesses the next tokens; see speculative.hpp
  bool prompt_lookup = false;    ///< or what the text repeats is guessed
  int64_t draft_tokens = 4;      ///< how far ahead
  DeviceChoice device = {};

  bool drafts() const { return prompt_lookup || !draft.empty(); }
};
int generate_text(const GenerateCommand& command);
/// Judges the learner's files, builds rungs_mine of those that passed, or where a CUDA backend is asked for the program
/// of their kernels, and becomes it, with the same command line.
int generate_on_mine(const GenerateCommand& command);

struct ServeCommand {
  std::string model = {};            ///< as of GenerateCommand
  std::string tokenizer = {};        ///< "": the model's
  std::string host = "127.0.0.1";    ///< an address of this machine
  int port = 8080;                   ///< 0: any that is free
  std::string api_key = {};          ///< "": nobody is asked for one
  int64_t slots = 16;                ///< requests that are served at once; the others wait
  int64_t chunk = 32;                ///< tokens of prompts in a step in which others wait for their next token
  int64_t context = 0;               ///< most tokens of a text; 0: as many as the model knows
  int64_t block_size = 0;            ///< tokens of a block of the cache; 0: usual_block_size
  int64_t max_tokens_in_flight = 0;  ///< of all texts together; 0: what the slots can have, 65536 at most
  bool tensor_parallel = false;      ///< the processes of mpirun share the model
  double rank_timeout = 10;          ///< seconds after which one that does not answer is given up
  int threads = 0;                   ///< as the command line says; 0: nothing
  DeviceChoice device = {};
};
/// Listens until a signal ends it. \throws UsageError for options that do not fit, a port that is taken, and a build
/// without an HTTP library
int serve(const ServeCommand& command);

struct LogitsCommand {
  std::string model = {};                ///< directory, or a .bin of llama2.c
  std::string tokens = {};               ///< .npy, (T) or (B, T), i32 or i64
  std::optional<std::string> text = {};  ///< or a text; "": BOS alone
  std::string tokenizer = {};            ///< of the text; "": the model's
  std::string out = {};                  ///< .npy, (T, V) or (B, T, V), f32
  std::string taps = {};                 ///< directory; "": none
  bool cache = true;
  DType cache_dtype = DType::f32;
  int64_t chunk = 0;  ///< tokens of each sequence that one call feeds; 0: all
  DeviceChoice device = {};
};
int write_logits(const LogitsCommand& command);

struct TokenizeCommand {
  std::string tokenizer;              ///< its file, or a model's directory
  std::optional<std::string> text;    ///< to encode; or
  std::string file;                   ///< its file; or
  std::optional<std::string> decode;  ///< ids to decode
  bool json = false, bos = true;
  bool specials = false;  ///< special tokens written in the text become these tokens
};
int tokenize_text(const TokenizeCommand& command);

struct InspectCommand {
  std::string path;     ///< a directory, a .bin, or a .safetensors
  int64_t context = 0;  ///< tokens of a sequence to plan memory for; 0: as many as the model knows
  int64_t batch = 1;    ///< sequences
  DType cache_dtype = DType::f32;
  bool json = false;
};
int inspect_checkpoint(const InspectCommand& command);

struct ConvertCommand {
  std::string from, to;                 ///< each a directory, a .bin or a .gguf
  std::string dtype;                    ///< of the weights: "f32", "bf16", "q8_0", ...; "": as they are
  std::optional<int> bin_version = {};  ///< of a .bin; none: 1
  bool json = false;
};
int convert_checkpoint(const ConvertCommand& command);
///@}

/// \name Measure
///@{
struct BenchCacheCommand {
  std::string model;             ///< directory
  std::vector<int64_t> lengths;  ///< of the prompt, in tokens
  int64_t tokens = 64;           ///< generated after each prompt
  std::string out;               ///< .json; the pictures go beside it
  bool json = false;
  DeviceChoice device = {};
};
int bench_cache(const BenchCacheCommand& command);

struct BenchBatchCommand {
  std::string model;                  ///< directory, or a .bin of llama2.c
  std::vector<int64_t> batches = {};  ///< sequences that are continued at once
  int64_t input = 256, output = 32;   ///< tokens of each prompt, and generated after each
  std::string out = {};               ///< .json; the pictures go beside it
  bool json = false;
  DeviceChoice device = {};
};
int bench_batch(const BenchBatchCommand& command);

struct BenchEngineCommand {
  std::string model;     ///< a LLaMA
  std::string out = {};  ///< .json; "": none
  bool json = false;
  DType cache_dtype = DType::f32;
};
int bench_engine(const BenchEngineCommand& command);

struct BenchServeCommand {
  std::string model;
  int64_t requests = 64, slots = 16;  ///< how many come; how many are served at once
  double rate = 0;                    ///< how many come in a second; 0: all at the beginning
  int64_t shared = 0;                 ///< tokens that every prompt begins with
  int64_t seed = 1;
  std::string http = {};  ///< of a running `rungs serve`, which gets the same trace; "": none
  std::string peer = {};  ///< of a server that is not ours, which gets it, too; "": none
  int64_t clients = 0;    ///< that ask it without pause, in place of the trace; 0: none
  double minutes = 10;    ///< for so long
  std::string out = {};   ///< .json; "": none
  bool json = false;
  DeviceChoice device = {};
};
int bench_serve(const BenchServeCommand& command);

struct BenchPagedCommand {
  std::string model;  ///< a directory, a .bin of llama2.c, or a .gguf
  DeviceChoice device = {};
  std::vector<int64_t> batches = {1, 16};  ///< sequences that decode at once
  std::vector<int64_t> past = {};          ///< tokens before the one that is decoded; none: few, and a full context
  int64_t block_size = 0;                  ///< tokens of a block; 0: usual_block_size
  int64_t rounds = 15;
  DType cache_dtype = DType::f32;
  std::string out = {};  ///< .json; "": none
  bool json = false;
};
int bench_paged(const BenchPagedCommand& command);

struct BenchPeersCommand {
  std::string model;               ///< a .gguf, or for llama2.c a .bin
  std::string llama_cpp, llama2c;  ///< the folder of llama.cpp's programs, or llama2.c's program
  std::string only = {};           ///< measure what has this in its name; "": everything
  int64_t rounds = 3;
  std::string out = {};  ///< .json; "": none
  bool json = false;
};
int bench_peers(const BenchPeersCommand& command);

struct RandomModelCommand {
  std::string directory;  ///< made where it is not there
  std::string shape = "stories15M";
  std::string dtype = "bf16";  ///< or "f32"
  int64_t context = 0;         ///< 0: as the shape has it
  uint64_t seed = 0;
};
int make_random_model(const RandomModelCommand& command);

/// The model that `rungs calc` is about: numbers as they were written, "" where nothing was.
struct CalcModel {
  std::string model = "Llama-3-8B";  ///< a named shape, or a checkpoint
  std::string layers = {}, heads = {}, kv_heads = {}, hidden_size = {}, head_dim = {};
  std::string intermediate_size = {}, vocab_size = {};
  std::string weight_bytes = {}, cache_bytes = {};  ///< of an element
};

/// How the answer is printed.
struct CalcOutput {
  bool json = false, csv = false;
  std::string plot = {};  ///< pictures: this name with .png and .svg, and one in the terminal; "": none
};

struct CalcMemoryCommand {
  CalcModel model = {};
  CalcOutput output = {};
  std::string memory = "80GB";            ///< of one GPU
  std::vector<std::string> context = {};  ///< tokens of a request
  std::vector<std::string> gpus = {"1"};  ///< that share a model
  std::string formula = "both";           ///< "exact", "course"
};
int calc_memory(const CalcMemoryCommand& command);

struct CalcIntensityCommand {
  CalcOutput output = {};
  std::string head_dim = "128", element_bytes = "2";
  std::string context = "1024";  ///< of the two examples, and of decoding against the batch
  std::vector<std::string> contexts = {"128", "256", "512", "1k", "2k", "4k", "8k"};
  std::vector<std::string> batches = {"1", "2", "4", "8", "16", "32", "64"};
};
int calc_intensity(const CalcIntensityCommand& command);

struct CalcRooflineCommand {
  CalcModel model = {};
  CalcOutput output = {};
  std::string device = "H100";  ///< a name, or "measured"
  std::string context = "1024", batch = "1";
  bool run = false;  ///< measure the operations, too
};
int calc_roofline(const CalcRooflineCommand& command);
///@}

}  // namespace rungs
