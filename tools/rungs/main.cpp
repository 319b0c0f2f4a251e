// The command line of Rungs. Only this file includes CLI11, which takes seconds to compile.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "commands.hpp"
#include "engine.hpp"
#include "rungs/base/error.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/processor.hpp"
#include "suggest.hpp"

namespace rungs {

namespace {

const std::string decoder = RUNGS_SOURCE_DIR "/weights/decoder", stories = RUNGS_SOURCE_DIR "/weights/stories";

/// As Meta's own program for LLaMA generates.
GenerateOptions usual_options() {
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
  GradeOptions grade = {};
  ProfileCommand profile = {};
  GenerateCommand generate{.model = stories, .options = usual_options()};
  LogitsCommand logits{.model = stories};
  TokenizeCommand tokenize{};
  BenchCacheCommand cache{decoder, {10, 50, 100, 500, 1000}, 64, RUNGS_SOURCE_DIR "/bench/results/cache.json"};
  BenchBatchCommand batch{.model = stories, .batches = {1, 8, 16}, .out = RUNGS_SOURCE_DIR "/bench/results/batch.json"};
  RandomModelCommand random = {};
  InspectCommand inspect = {};
  ConvertCommand convert = {};
  CalcMemoryCommand calc_memory = {};
  CalcIntensityCommand calc_intensity = {};
  CalcRooflineCommand calc_roofline = {};
  std::function<int()> chosen = {};
};

CLI::App* add_command(CommandLine& line, CLI::App& parent, const char* group, const char* name, const char* says,
                      std::function<int()> does) {
  CLI::App* command = parent.add_subcommand(name, says)->group(group);
  command->final_callback([&line, does] { line.chosen = does; });
  return command;
}

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
  add_lesson("start", "put the lesson's file into work/, for you to write", start_lesson);
  add_lesson("check", "build and grade your file of a lesson", check_lesson);
  add_lesson("run", "run a lesson's program", run_lesson);
  CLI::App* profile = add("profile", "the memory transactions of each line of your kernels",
                          [&line] { return profile_lesson(line.profile); });
  profile->add_option("LESSON", line.profile.lesson, "a lesson about CUDA, from 16 on")->required();
  profile->add_flag("--json", line.profile.json, "for scripts");
  add_lesson("reset", "put the lesson's file back as it was at the start", reset_lesson);
  CLI::App* grade = add("grade", "grade every lesson", [&line] { return grade_lessons(line.grade); });
  grade->add_option("LESSONS", line.grade.lessons, "only these");
  grade->add_option("--suite", line.grade.suite, "only this suite: evaluate or kv_evaluate")
      ->check(CLI::IsMember({"evaluate", "kv_evaluate"}));
  grade->add_flag("--strength", line.grade.strength, "grade the suites: every known mistake must fail");
  grade->add_flag("--json", line.grade.json, "for scripts");
}

void add_threads(CLI::App* command) {
  command->add_option_function<int>("--threads", use_threads, "to compute with; otherwise one for each processor")
      ->check(CLI::Range(1, 1024));
}

CLI::Option* add_device(CLI::App* command, DeviceChoice& device, char** argv) {
  device.argv = argv;
  CLI::Option* backend =
      command->add_option("--backend", device.backend, "what computes; cuda-naive: with the first rung of each kernel")
          ->check(CLI::IsMember({"cpu", "cuda-naive", "cuda"}))
          ->capture_default_str();
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
  return backend;
}

void add_use(CommandLine& line) {
  GenerateCommand& g = line.generate;
  CLI::App* generate = add_command(line, line.app, "Use", "generate", "continue texts", [&line, &g] {
    return g.mine && !engine_is_mine ? generate_on_mine(line.argv) : generate_text(g);
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
  CLI::Option* backend = add_device(generate, g.device, line.argv);
  add_threads(generate);
  generate->add_flag_callback(
      "--no-cache", [&g] { g.options.cache = false; }, "feed the whole text again at every step");
  generate->add_flag("--mine", g.mine, "run on your own code, of the lessons that you passed")->excludes(backend);
  generate->add_flag("--stats", g.stats, "say how fast it was, also where no terminal looks on");
  generate->add_flag("--trace", g.trace, "show what every step feeds, and where");
  generate->add_flag("--json", g.json, "for scripts")->excludes(interactive);

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
  logits
      ->add_flag_callback(
          "--no-cache", [&l] { l.cache = false; }, "feed all tokens at once, without a cache")
      ->excludes(chunk);
  add_device(logits, l.device, line.argv);
  add_threads(logits);
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

void add_measuring(CommandLine& line) {
  CLI::App* bench = line.app.add_subcommand("bench", "measure how long things take")->group("Measure");
  bench->require_subcommand(0, 1);
  bench->final_callback([&line, bench] {
    if (!line.chosen) throw UsageError("rungs bench needs a command: cache or batch");
  });
  BenchCacheCommand& c = line.cache;
  CLI::App* cache = add_command(line, *bench, "Subcommands", "cache", "generation with and without the KV cache",
                                [&c] { return bench_cache(c); });
  cache->add_option("--model", c.model, "directory of the model")->default_str("weights/decoder")->type_name("DIR");
  add_device(cache, c.device, line.argv);
  add_threads(cache);
  cache->add_option("--lengths", c.lengths, "of the prompts, in tokens")->delimiter(',')->capture_default_str();
  cache->add_option("--tokens", c.tokens, "to generate after each prompt")->capture_default_str();
  cache->add_option("--out", c.out, "the report; the pictures are written beside it")
      ->default_str("bench/results/cache.json")
      ->type_name("FILE.json");
  cache->add_flag("--json", c.json, "print the report instead of tables");

  BenchBatchCommand& b = line.batch;
  CLI::App* batch = add_command(line, *bench, "Subcommands", "batch", "memory and time of batches, beside predictions",
                                [&b] { return bench_batch(b); });
  batch->add_option("--model", b.model, "a Hugging Face directory, a .bin of llama2.c, or a .gguf")
      ->default_str("weights/stories")
      ->type_name("PATH");
  add_device(batch, b.device, line.argv);
  add_threads(batch);
  batch->add_option("--batch", b.batches, "sequences that are continued at once")
      ->delimiter(',')
      ->capture_default_str();
  batch->add_option("--input", b.input, "tokens of each prompt")->capture_default_str();
  batch->add_option("--output", b.output, "tokens generated after each")->capture_default_str();
  batch->add_option("--out", b.out, "the report; the pictures are written beside it")
      ->default_str("bench/results/batch.json")
      ->type_name("FILE.json");
  batch->add_flag("--json", b.json, "print the report instead of tables");

  RandomModelCommand& r = line.random;
  CLI::App* random = add_command(line, line.app, "Measure", "random-model", "make a LLaMA of random weights",
                                 [&r] { return make_random_model(r); });
  random->add_option("DIR", r.directory, "where config.json, model.safetensors and vocabulary.json go")->required();
  random->add_option("--shape", r.shape, "stories15M, stories110M, Llama-3.2-1B, Llama-3-8B, ...")
      ->capture_default_str();
  random->add_option("--dtype", r.dtype, "of the weights: bf16 or f32")->capture_default_str();
  random->add_option("--context", r.context, "positions that the model knows; 0: as the shape has it")
      ->capture_default_str();
  random->add_option("--seed", r.seed, "of the weights")->capture_default_str();
}

/// The name that an option had in the version before: it works, and says the new one.
template <class T>
void add_old_name(CLI::App* command, const char* old_name, const char* name, T& value) {
  command
      ->add_option_function<T>(old_name,
                               [=, &value](const T& given) {
                                 fmt::print(stderr, "{} is called {} now\n", old_name, name);
                                 value = given;
                               })
      ->group("");
}

void add_calc_model(CLI::App* command, CalcModel& model) {
  command
      ->add_option("--model", model.model,
                   "a published shape, a Hugging Face directory, a .bin of llama2.c, or a .gguf")
      ->capture_default_str()
      ->type_name("NAME|PATH");
  const auto size = [&](const char* name, std::string& value, const char* says, const char* old_name = nullptr) {
    command->add_option(name, value, says)->type_name("N")->group("In place of the model's own");
    if (old_name) add_old_name(command, old_name, name, value);
  };
  size("--layers", model.layers, "layers");
  size("--heads", model.heads, "query heads");
  size("--kv-heads", model.kv_heads, "key/value heads");
  size("--hidden-size", model.hidden_size, "of an embedding", "--width");
  size("--head-dim", model.head_dim, "of a head; otherwise the hidden size over the query heads", "--head-width");
  size("--intermediate-size", model.intermediate_size, "of the feed-forward", "--inner");
  size("--vocab-size", model.vocab_size, "tokens that there are: 128256, 32k", "--vocabulary");
  size("--weight-bytes", model.weight_bytes,
       "bytes a weight (q8_0 1.0625, q4_0 0.5625); otherwise 2, or those of the checkpoint");
  size("--cache-bytes", model.cache_bytes,
       "bytes a cache element; otherwise 2, or 4, this library's, for a checkpoint");
}

void add_calc_output(CLI::App* command, CalcOutput& output, bool plots) {
  CLI::Option* json = command->add_flag("--json", output.json, "for scripts");
  command->add_flag("--csv", output.csv, "for spreadsheets")->excludes(json);
  if (plots)
    command->add_option("--plot", output.plot, "draw NAME.png and NAME.svg, and in the terminal")->type_name("NAME");
}

void add_calc(CommandLine& line) {
  CLI::App* calc = line.app.add_subcommand("calc", "what a model needs, and how fast it can go")->group("Measure");
  calc->require_subcommand(0, 1);
  calc->final_callback([&line] {
    if (!line.chosen) throw UsageError("rungs calc needs a command: memory, intensity or roofline");
  });
  const auto list = [](CLI::App* command, const char* name, std::vector<std::string>& values, const char* says) {
    return command->add_option(name, values, says)->delimiter(',')->type_name("N,...");
  };

  CalcMemoryCommand& m = line.calc_memory;
  CLI::App* memory = add_command(line, *calc, "Subcommands", "memory", "parameters, KV cache, and the largest batch",
                                 [&m] { return calc_memory(m); });
  add_calc_model(memory, m.model);
  memory->add_option("--memory", m.memory, "of one GPU; GB is 2^30 bytes")->capture_default_str()->type_name("SIZE");
  list(memory, "--context", m.context, "tokens of a request; otherwise 1024,2048,4096, or all that a checkpoint knows");
  list(memory, "--tp", m.gpus, "GPUs that share the model")->capture_default_str();
  memory->add_option("--formula", m.formula, "how parameters are counted")
      ->check(CLI::IsMember({"course", "exact", "both"}))
      ->capture_default_str();
  add_calc_output(memory, m.output, false);

  CalcIntensityCommand& i = line.calc_intensity;
  CLI::App* intensity = add_command(line, *calc, "Subcommands", "intensity", "FLOPs and bytes of attention",
                                    [&i] { return calc_intensity(i); });
  intensity->add_option("--head-dim", i.head_dim, "of the head")->capture_default_str()->type_name("N");
  add_old_name(intensity, "--head-width", "--head-dim", i.head_dim);
  intensity->add_option("--element-bytes", i.element_bytes, "bytes of one element")
      ->capture_default_str()
      ->type_name("N");
  intensity->add_option("--at", i.context, "tokens of the examples, and of decoding")
      ->capture_default_str()
      ->type_name("N");
  list(intensity, "--context", i.contexts, "tokens of the prompts")->capture_default_str();
  list(intensity, "--batch", i.batches, "requests that decode together")->capture_default_str();
  add_calc_output(intensity, i.output, true);

  CalcRooflineCommand& r = line.calc_roofline;
  CLI::App* roofline = add_command(line, *calc, "Subcommands", "roofline",
                                   "the best that a device could do with a model", [&r] { return calc_roofline(r); });
  roofline->add_option("--device", r.device, "A100, H100, H200, RTX 4090; or measured: this machine, in a few seconds")
      ->capture_default_str()
      ->type_name("NAME");
  add_calc_model(roofline, r.model);
  roofline->add_option("--context", r.context, "tokens of the prompt")->capture_default_str()->type_name("N");
  roofline->add_option("--batch", r.batch, "requests at once")->capture_default_str()->type_name("N");
  roofline->add_flag("--run", r.run, "measure the model's operations, too: with --device measured and a checkpoint");
  add_threads(roofline);
  add_calc_output(roofline, r.output, true);
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

/// With what the program was compiled for, which a report of a fault needs.
std::string version() {
  std::string targets;
  for (const VectorTarget& t : vector_targets())
    targets += fmt::format("{}{}{}", targets.empty() ? "" : ", ", t.name, t.used ? " (used here)" : "");
  return fmt::format("rungs {}\ncompiled for {}; vectors: {}", RUNGS_VERSION, baseline(), targets);
}

int run(int argc, char** argv) {
  CommandLine line{argv};
  line.app.require_subcommand(0, 1);
  line.app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  line.app.set_version_flag("--version", version);
  add_learning(line);
  add_use(line);
  add_files(line);
  add_measuring(line);
  add_calc(line);
  line.app.footer("`rungs COMMAND --help` shows the options of a command.");
  try {
    check_words(line.app, std::span(argv, size_t(argc)).subspan(1));
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == int(CLI::ExitCodes::Success)) return line.app.exit(e);  // --help, --version
    throw UsageError(e.what());
  }
  if (!line.chosen) {
    fmt::print("{}", line.app.help());
    return 0;
  }
  const int status = line.chosen();
  if (std::fflush(stdout) != 0) throw FileError("standard output could not be written to the end");
  return status;
}

/// "lengths: wanted ..." and CLI11's sentences end alike: without a period, on one line.
int fail(int status, std::string sentence) {
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  fmt::print(stderr, "rungs: {}\n", sentence);
  return status;
}

}  // namespace
}  // namespace rungs

int main(int argc, char** argv) {
  using namespace rungs;
  try {
    return run(argc, argv);
  } catch (const UsageError& e) {
    return fail(2, e.what());
  } catch (const FileError& e) {
    return fail(3, e.what());
  } catch (const std::bad_alloc&) {
    return fail(1, "there is not enough memory");
  } catch (const std::exception& e) {
    return fail(1, e.what());
  }
}
