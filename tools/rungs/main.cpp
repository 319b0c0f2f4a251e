// The command line of Rungs: what learns and what uses, and what is done with what was chosen.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "command_line.hpp"
#include "engine.hpp"
#include "parallel_engine.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/processor.hpp"
#include "suggest.hpp"
#include "workspace.hpp"

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

namespace {

void add_learning(CommandLine& line) {
  const auto add = [&](const char* name, const char* says, std::function<int()> does) {
    return add_command(line, line.app, "Learn", name, says, std::move(does));
  };
  const auto add_lesson = [&](const char* name, const char* says, int (*does)(const std::string&)) {
    add(name, says, [&line, does] { return does(line.lesson); })
        ->add_option("LESSON", line.lesson, "its number (6, 06), its name, or the beginning of that")
        ->required();
  };
  add("list", "the lessons, what each adds, and how far you are", [&line] {
    return list_lessons(line.list_as_json);
  })->add_flag("--json", line.list_as_json, "for scripts");
  CLI::App* start = add("start", "put the lesson's file into work/, for you to write", [&line] {
    return start_lesson(line.stretch ? stretch_word(line.lesson) : line.lesson, line.blank);
  });
  start->add_option("LESSON", line.lesson, "its number (6, 06), its name, or the beginning of that")->required();
  start->add_flag("--blank", line.blank, "of the functions to write, the signatures alone");
  start->add_flag("--stretch", line.stretch, stretch_help);
  CLI::App* check = add("check", "build and grade your file of a lesson", [&line] {
    if (line.stretch) line.check.lesson = stretch_word(line.check.lesson);
    return check_lesson(line.check);
  });
  check->add_option("LESSON", line.check.lesson,
                    "its number, name or file; without it, the lesson whose file was saved last");
  check->add_flag("--stretch", line.stretch, stretch_help);
  check
      ->add_option("--on", line.check.on,
                   "where kernels run: on the emulator and its checker, or what nvcc makes of them, as PTX on this "
                   "processor or on a GPU")
      ->check(CLI::IsMember({"emulator", "ptx", "gpu"}))
      ->capture_default_str();
  CLI::App* run =
      add("run", "run a lesson's program, on your code where it passed", [&line] { return run_lesson(line.run); });
  run->add_option("LESSON", line.run.lesson, "its number (6, 06), its name, or the beginning of that")->required();
  CLI::Option* mine = run->add_flag("--mine", line.run.mine, "on your file, passed or not");
  run->add_flag("--solution", line.run.solution, "on the solution")->excludes(mine);
  run->add_option("--text", line.run.text, "what goes in, in place of the program's own text");
  run->add_option("--on", line.run.on, "where your kernels run: on the emulator or a GPU")
      ->check(CLI::IsMember({"emulator", "gpu"}))
      ->capture_default_str();
  CLI::App* profile = add("profile", "the memory transactions of each line of your kernels",
                          [&line] { return profile_lesson(line.profile); });
  profile->add_option("LESSON", line.profile.lesson, "a lesson about CUDA, from 16 on")->required();
  CLI::Option* json = profile->add_flag("--json", line.profile.json, "for scripts");
  profile
      ->add_option("--svg", line.profile.svg,
                   "draw the lanes of one request against sectors of memory, and against banks")
      ->type_name("FILE")
      ->excludes(json);
  profile->add_option("--line", line.profile.line, "with --svg: which line, not the one that wastes most")
      ->check(CLI::PositiveNumber);
  profile->add_option("--on", line.profile.on, "count in the emulator, or measure times on a GPU, too")
      ->check(CLI::IsMember({"emulator", "gpu"}))
      ->capture_default_str();
  profile->add_flag("--solution", line.profile.solution, "of the solution, not of your file");
  profile->add_flag("--nothing-built", line.profile.nothing_built, "as it was built")->group("");
  add_lesson("reset", "put the lesson's file back as it was at the start", reset_lesson);
  CLI::App* grade = add("grade", "grade every lesson", [&line] { return grade_lessons(line.grade); });
  grade->add_option("LESSONS", line.grade.lessons, "only these");
  grade->add_option("--suite", line.grade.suite, "only this suite: evaluate or kv_evaluate")
      ->check(CLI::IsMember({"evaluate", "kv_evaluate"}));
  grade->add_flag("--strength", line.grade.strength, "grade the suites: every known mistake must fail");
  grade->add_flag("--naming", line.grade.naming, "grade the names: what is said of versions written freely");
  grade->add_flag("--json", line.grade.json, "for scripts");
  add_class(line, grade);
}

void add_use(CommandLine& line) {
  GenerateCommand& g = line.generate;
  CLI::App* generate = add_command(line, line.app, "Use", "generate", "continue texts", [&line, &g] {
    if (g.tensor_parallel) return generate_on_ranks(g);
    return g.mine && !engine_is_mine ? generate_on_mine(g) : generate_text(g);
  });
  generate->add_option("--model", g.model, "a Hugging Face directory, a .bin of llama2.c, or a .gguf")
      ->default_str("weights/stories")
      ->type_name("PATH");
  generate->add_option("--tokenizer", g.tokenizer, "its file or directory, where it does not lie with the model")
      ->type_name("PATH");
  CLI::Option* prompt =
      generate
          ->add_option("--prompt", g.prompts, "text to continue, once or more; without it the model begins by itself")
          ->allow_extra_args(false);
  CLI::Option* prompts =
      generate->add_option("--prompts", g.prompts_file, "a file with one prompt a line, continued all at once")
          ->excludes(prompt)
          ->type_name("FILE");
  CLI::Option* interactive =
      generate->add_flag("--interactive", g.interactive, "read prompts line by line, until an empty one")
          ->excludes(prompt)
          ->excludes(prompts);
  generate->add_flag("--echo", g.echo, "the prompt before its continuation");
  generate->add_option("--max-tokens", g.options.max_tokens, "most tokens to generate for each prompt")
      ->capture_default_str();
  generate->add_option("--temperature", g.options.sampling.temperature, "0: always the most probable token")
      ->capture_default_str();
  generate->add_option("--top-k", g.options.sampling.top_k, "draw from the k most probable tokens; 0: from all")
      ->capture_default_str();
  generate
      ->add_option("--top-p", g.options.sampling.top_p,
                   "draw from the fewest tokens whose probabilities reach p; 1: from all")
      ->capture_default_str();
  generate->add_option("--seed", g.options.seed, "of the draws; prompt i (from 0) draws with seed + i")
      ->capture_default_str();
  generate->add_option("--context", g.options.context, "most tokens of a text, prompt included; 0: as the model allows")
      ->capture_default_str();
  add_device(generate, g.device, line.argv);
  CLI::Option* threads = add_threads(generate);
  CLI::Option* parallel = generate->add_flag_callback(
      "--tensor-parallel",
      [&g, threads] { g.tensor_parallel = true, g.threads = threads->empty() ? 0 : threads->as<int>(); },
      "each process of `mpirun -n N` has a part of every layer, on CUDA its own GPU; rank 0 prints");
  parallel->excludes(interactive);
  generate
      ->add_option("--rank-timeout", g.rank_timeout, "seconds after which a process that does not answer is given up")
      ->check(CLI::Range(0.1, 86400.0))
      ->needs(parallel)
      ->capture_default_str();
  add_exact(generate);
  CLI::Option* cache_dtype = add_cache_dtype(generate, g.options.cache_dtype);
  CLI::Option* draft =
      generate->add_option("--draft", g.draft, "a smaller model guesses the next tokens, this one checks all at once")
          ->excludes(parallel)
          ->type_name("PATH");
  CLI::Option* lookup =
      generate->add_flag("--prompt-lookup", g.prompt_lookup, "or what followed the same words before is the guess")
          ->excludes(draft)
          ->excludes(parallel);
  generate->add_option("--draft-tokens", g.draft_tokens, "how many are guessed at a time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  generate
      ->add_flag_callback(
          "--no-cache", [&g] { g.options.cache = false; }, "feed the whole text again at every step")
      ->excludes(cache_dtype)
      ->excludes(draft)
      ->excludes(lookup);
  generate->add_flag("--mine", g.mine, "run on your own code, of the lessons that you passed")
      ->excludes(draft)
      ->excludes(lookup)
      ->excludes(cache_dtype)
      ->excludes(parallel);
  generate->add_flag("--stats", g.stats, "say how fast it was, also where no terminal looks on");
  generate->add_flag("--trace", g.trace, "show what every step feeds, and where");
  generate->add_flag("--json", g.json, "for scripts")->excludes(interactive);

  ServeCommand& s = line.server;
  CLI::App* server = add_command(line, line.app, "Use", "serve",
                                 "answer many clients at once, over HTTP as OpenAI does", [&s] { return serve(s); });
  server->add_option("--model", s.model, "a Hugging Face directory, a .bin of llama2.c, or a .gguf")
      ->default_str("weights/stories")
      ->type_name("PATH");
  server->add_option("--tokenizer", s.tokenizer, "its file or directory, where it does not lie with the model")
      ->type_name("PATH");
  server->add_option("--host", s.host, "the address to listen at")->capture_default_str();
  server->add_option("--port", s.port, "0: any that is free")->capture_default_str();
  server->add_option("--api-key", s.api_key, "what clients must send; needed where other machines can ask")
      ->type_name("KEY");
  server->add_option("--slots", s.slots, "requests that are served at once; the others wait")->capture_default_str();
  server->add_option("--chunk", s.chunk, "tokens of prompts in a step in which others wait for their next token")
      ->capture_default_str();
  server->add_option("--context", s.context, "most tokens of a text, prompt included; 0: as the model allows")
      ->capture_default_str();
  server
      ->add_option("--max-tokens-in-flight", s.max_tokens_in_flight,
                   "of all texts at once, which is the size of the cache; 0: what the slots can have, 65536 at most")
      ->capture_default_str();
  server->add_option("--block-size", s.block_size, "tokens of a block of the cache; 0: 16, of narrow models more")
      ->capture_default_str();
  CLI::Option* server_threads = add_threads(server);
  CLI::Option* on_ranks = server->add_flag_callback(
      "--tensor-parallel",
      [&s, server_threads] {
        s.tensor_parallel = true, s.threads = server_threads->empty() ? 0 : server_threads->as<int>();
      },
      "each process of `mpirun -n N` has a part of every layer, on CUDA its own GPU; rank 0 listens");
  add_device(server, s.device, line.argv, /*naive=*/false);
  server->add_option("--rank-timeout", s.rank_timeout, "seconds after which a process that does not answer is given up")
      ->check(CLI::Range(2.0, 86400.0))
      ->needs(on_ranks)
      ->capture_default_str();

  LogitsCommand& l = line.logits;
  CLI::App* logits = add_command(line, line.app, "Use", "logits", "write the logits of the tokens in a file",
                                 [&l] { return write_logits(l); });
  logits->add_option("--model", l.model, "a Hugging Face directory, a .bin of llama2.c, or a .gguf")
      ->default_str("weights/stories")
      ->type_name("PATH");
  CLI::Option* tokens =
      logits->add_option("--tokens", l.tokens, ".npy, (T) or (B, T), int32 or int64")->type_name("FILE");
  logits->add_option("--text", l.text, "instead of tokens: BOS and the tokens of this text")->excludes(tokens);
  logits->add_option("--tokenizer", l.tokenizer, "its file or directory, where it does not lie with the model")
      ->type_name("PATH");
  logits->add_option("--out", l.out, ".npy, (T, V) or (B, T, V), float32")->required()->type_name("FILE");
  CLI::Option* chunk =
      logits->add_option("--chunk", l.chunk, "feed this many tokens at a time through the cache; 0: all")
          ->capture_default_str();
  CLI::Option* logits_cache = add_cache_dtype(logits, l.cache_dtype);
  logits
      ->add_flag_callback(
          "--no-cache", [&l] { l.cache = false; }, "feed all tokens at once, without a cache")
      ->excludes(chunk)
      ->excludes(logits_cache);
  add_device(logits, l.device, line.argv);
  add_threads(logits);
  add_exact(logits);
  logits->add_option("--taps", l.taps, "write every intermediate tensor as DIR/NAME.npy, (T, ...) or (B, T, ...)")
      ->type_name("DIR");

  TokenizeCommand& t = line.tokenize;
  CLI::App* tokenize =
      add_command(line, line.app, "Use", "tokenize", "show the tokens of a text", [&t] { return tokenize_text(t); });
  tokenize->add_option("--tokenizer", t.tokenizer, "tokenizer.json, tokenizer.model, ..., or a model's directory")
      ->required()
      ->type_name("PATH");
  CLI::Option* text = tokenize->add_option("--text", t.text, "the text");
  CLI::Option* file = tokenize->add_option("--file", t.file, "its file")->excludes(text)->type_name("FILE");
  tokenize->add_option("--decode", t.decode, "show the text of these ids instead: 1,2,3")
      ->excludes(text)
      ->excludes(file)
      ->type_name("IDS");
  tokenize->add_flag("--specials", t.specials, "special tokens written in the text become these tokens");
  tokenize->add_flag_callback(
      "--no-bos", [&t] { t.bos = false; }, "without the token that begins a text");
  tokenize->add_flag("--json", t.json, "only the list of ids, or the decoded text as JSON");
}

void add_files(CommandLine& line) {
  InspectCommand& i = line.inspect;
  CLI::App* inspect = add_command(line, line.app, "Use", "inspect", "what is in a checkpoint, and the memory it takes",
                                  [&i] { return inspect_checkpoint(i); });
  inspect->add_option("PATH", i.path, "a Hugging Face directory, a .bin of llama2.c, a .gguf, or a .safetensors")
      ->required();
  inspect->add_option("--context", i.context, "tokens of a sequence to plan memory for; 0: as many as the model knows")
      ->capture_default_str();
  inspect->add_option("--batch", i.batch, "sequences to plan memory for")->capture_default_str();
  add_cache_dtype(inspect, i.cache_dtype);
  inspect->add_flag("--json", i.json, "for scripts");

  ConvertCommand& c = line.convert;
  CLI::App* convert = add_command(line, line.app, "Use", "convert", "a LLaMA into another kind of file, or quantized",
                                  [&c] { return convert_checkpoint(c); });
  convert->add_option("FROM", c.from, "a Hugging Face directory, in one file or in shards, a .bin or a .gguf")
      ->required();
  convert->add_option("TO", c.to, "a directory; a GGUF file, when it ends in .gguf; one of llama2.c, in .bin")
      ->required();
  convert->add_option("--dtype", c.dtype,
                      "of the weights: f32, bf16; in a .gguf also f16, q8_0, q4_0; else as they are");
  convert->add_option("--bin-version", c.bin_version, "of a .bin: 0 or 1, both f32")->capture_default_str();
  convert->add_flag("--json", c.json, "for scripts");
}

std::vector<std::string> names_of(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// CLI11 has no "did you mean": what begins the command line must be a command, and what begins with -- an option of
/// it.
void check_words(CLI::App& app, std::span<char*> words) {
  CLI::App* command = &app;
  std::string path = "rungs";
  for (const std::string word : words) {
    if (word == "--") return;
    const std::vector<std::string> commands = names_of(*command);
    if (!word.starts_with("-")) {
      if (commands.empty()) continue;  // an argument
      if (std::find(commands.begin(), commands.end(), word) == commands.end())
        throw UsageError(fmt::format("{} has no command \"{}\"{}", path, word, did_you_mean(word, commands)));
      command = command->get_subcommand(word);
      path += " " + word;
    } else if (word.starts_with("--")) {
      std::vector<std::string> options;
      for (const CLI::Option* option : command->get_options())
        for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
      const std::string name = word.substr(0, word.find('='));
      if (std::find(options.begin(), options.end(), name) == options.end())
        throw UsageError(fmt::format("{} has no option {}{}", path, name, did_you_mean(name, options)));
    }
  }
}

/// Why a text is no whole number, as CLI11 asks. Leading zeros are taken away.
std::string not_whole(std::string& text, bool may_be_negative) {
  const bool negative = text.starts_with('-');
  const std::string digits = text.substr(negative || text.starts_with('+'));
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos || (negative && !may_be_negative))
    return fmt::format("wanted a whole number{}, found \"{}\"", may_be_negative ? "" : " from 0 on", text);
  const std::string number = digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  const std::string most = may_be_negative ? "9223372036854775807" : "18446744073709551615";
  if (number.size() > most.size() || (number.size() == most.size() && number > most))
    return fmt::format("wanted a whole number up to {}, found {}", most, text);
  text = (negative ? "-" : "") + number;
  return "";
}

/// By itself CLI11 reads 012 as octal, nothing as 0, and of a number that does not fit, or a negative seed, the
/// largest.
void read_numbers_as_people_do(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (const bool whole = type.starts_with("INT"); whole || type.starts_with("UINT"))
      option->transform(CLI::Validator([whole](std::string& text) { return not_whole(text, whole); }, ""));
    else if (type.starts_with("FLOAT"))
      option->transform(CLI::Validator(
          [](std::string& text) { return std::string(text.empty() ? "wanted a number, found nothing" : ""); }, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) read_numbers_as_people_do(*command);
}

/// With what the program was compiled for, which a report of a fault needs.
std::string version() {
  std::string targets;
  for (const VectorTarget& t : vector_targets())
    targets += fmt::format("{}{}{}", targets.empty() ? "" : ", ", t.name, t.used ? " (used here)" : "");
  return fmt::format("rungs {}\ncompiled for {}; vectors: {}{}", RUNGS_VERSION, baseline(), targets,
                     uses_bf16_dot() ? "; dot products of bf16" : "");
}

constexpr const char* output_not_written = "standard output could not be written to the end";
constexpr const char* no_memory = "there is not enough memory";

int run(int argc, char** argv) {
  CommandLine line{argv};
  line.app.require_subcommand(0, 1);
  line.app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  line.app.set_version_flag("--version", version);
  add_learning(line);
  add_learning_aids(line);
  add_teaching(line);
  add_show(line);
  add_use(line);
  add_files(line);
  add_measuring(line);
  add_calc(line);
  line.app.footer("`rungs COMMAND --help` shows the options of a command.");
  read_numbers_as_people_do(line.app);
  try {
    check_words(line.app, std::span(argv, size_t(argc)).subspan(1));
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != int(CLI::ExitCodes::Success)) throw UsageError(e.what());
    line.chosen = [&line, status = line.app.exit(e)] { return status; };  // --help, --version
  }
  if (!line.chosen) line.chosen = [&] { return fmt::print("{}", line.app.help()), 0; };
  const int status = line.chosen();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw FileError(output_not_written);
  return status;
}

/// "lengths: wanted ..." and CLI11's sentences end alike: without a period, on one line. What they quote may be long.
int fail(int status, const std::string& sentence) {
  constexpr size_t most = 2000;
  fmt::print(stderr, "rungs: {}{}\n", printable(std::string_view(sentence).substr(0, most)),
             sentence.size() > most ? "..." : "");
  return status;
}

/// What is called where an exception cannot be thrown: the JSON library allocates in destructors. To say so must take
/// no memory.
[[noreturn]] void end_without_memory() {
  if (const std::exception_ptr thrown = std::current_exception()) try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      for (const char* part : {"rungs: ", no_memory, "\n"}) std::fputs(part, stderr);
      std::_Exit(1);
    } catch (...) {
    }
  std::abort();
}

}  // namespace

int report_error(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return fail(1, no_memory);
  const int status = dynamic_cast<const UsageError*>(&error) ? 2 : dynamic_cast<const FileError*>(&error) ? 3 : 1;
  return status == 1 && std::ferror(stdout) ? fail(3, output_not_written) : fail(status, error.what());
}

}  // namespace rungs

int main(int argc, char** argv) {
  using namespace rungs;
  std::set_terminate(end_without_memory);
  name_files_cut_short();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow further is said, as a full disk is
  std::signal(SIGCHLD, SIG_DFL);  // who started this program may not have wanted to hear of its own children's ends
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    return report_error(e);
  }
}
