// The command line of what measures and calculates.
#include <fmt/format.h>

#include "command_line.hpp"
#include "rungs/base/error.hpp"

namespace rungs {

void add_measuring(CommandLine& line) {
  CLI::App* bench = line.app.add_subcommand("bench", "measure how long things take")->group("Measure");
  bench->require_subcommand(0, 1);
  bench->final_callback([&line] {
    if (!line.chosen) throw UsageError("rungs bench needs a command: cache, batch, engine, serve, paged or peers");
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

  BenchEngineCommand& e = line.engine;
  CLI::App* engine = add_command(line, *bench, "Subcommands", "engine", "a LLaMA's speed, beside the machine's limits",
                                 [&e] { return bench_engine(e); });
  engine->add_option("--model", e.model, "a Hugging Face directory, a .bin of llama2.c, or a .gguf")
      ->default_str("weights/stories")
      ->type_name("PATH");
  add_cache_dtype(engine, e.cache_dtype);
  add_threads(engine);
  add_exact(engine);
  engine->add_option("--out", e.out, "a report")->type_name("FILE.json");
  engine->add_flag("--json", e.json, "print the report instead of the table");

  BenchServeCommand& s = line.serve;
  CLI::App* serve = add_command(line, *bench, "Subcommands", "serve", "many requests in static and continuous batches",
                                [&s] { return bench_serve(s); });
  serve->add_option("--model", s.model, "a directory, a .bin of llama2.c, or a .gguf")
      ->default_str("weights/stories")
      ->type_name("PATH");
  serve->add_option("--requests", s.requests, "how many come")->capture_default_str();
  serve->add_option("--rate", s.rate, "how many come in a second, at random times; 0: all at once")
      ->capture_default_str();
  serve->add_option("--slots", s.slots, "how many are served at once")->capture_default_str();
  serve->add_option("--shared", s.shared, "tokens that every prompt begins with")->capture_default_str();
  serve->add_option("--seed", s.seed, "of times, lengths and prompts")->capture_default_str();
  serve->add_option("--http", s.http, "the same against a running `rungs serve` of this model, too")->type_name("URL");
  serve
      ->add_option("--peer", s.peer,
                   "the same against another server of this model that speaks the same protocol, as llama.cpp's does")
      ->type_name("URL");
  serve
      ->add_option("--clients", s.clients,
                   "in place of all that: so many clients ask the server at --http without pause; counts what is lost, "
                   "and watches its memory")
      ->type_name("INT");
  serve->add_option("--minutes", s.minutes, "with --clients: for how long")->capture_default_str();
  add_threads(serve);
  add_device(serve, s.device, line.argv, /*naive=*/false);
  serve->add_option("--out", s.out, "a report")->type_name("FILE.json");
  serve->add_flag("--json", s.json, "print the report instead of the table");

  BenchPagedCommand& g = line.paged;
  CLI::App* paged = add_command(line, *bench, "Subcommands", "paged", "decoding with a paged and a contiguous KV cache",
                                [&g] { return bench_paged(g); });
  paged->add_option("--model", g.model, "a directory, a .bin of llama2.c, or a .gguf")
      ->default_str("weights/stories")
      ->type_name("PATH");
  add_device(paged, g.device, line.argv, /*naive=*/false);
  paged->add_option("--batch", g.batches, "sequences that decode at once")->delimiter(',')->capture_default_str();
  paged
      ->add_option("--past", g.past,
                   "tokens before the one that is decoded; otherwise an eighth of the context, and all of it")
      ->delimiter(',');
  paged->add_option("--block-size", g.block_size, "tokens of a block; 0: as serve takes")->capture_default_str();
  paged->add_option("--rounds", g.rounds, "how often each is measured, turn by turn")->capture_default_str();
  add_cache_dtype(paged, g.cache_dtype);
  add_threads(paged);
  paged->add_option("--out", g.out, "a report")->type_name("FILE.json");
  paged->add_flag("--json", g.json, "print the report instead of the table");

  BenchPeersCommand& p = line.peers;
  CLI::App* peers = add_command(line, *bench, "Subcommands", "peers", "this library beside another, turn by turn",
                                [&p] { return bench_peers(p); });
  peers->add_option("--model", p.model, "a .gguf for llama.cpp, a .bin for llama2.c")->required()->type_name("FILE");
  peers->add_option("--llama-cpp", p.llama_cpp, "where llama-bench and llama-batched-bench are")->type_name("DIR");
  peers->add_option("--llama2c", p.llama2c, "the program run, beside its tokenizer.bin")->type_name("FILE");
  peers->add_option("--only", p.only, "measure what has this in its name: decode, batch, \"prompt of 512\"")
      ->type_name("TEXT");
  peers->add_option("--rounds", p.rounds, "how often each is measured")->capture_default_str();
  add_threads(peers);
  add_exact(peers);
  peers->add_option("--out", p.out, "a report")->type_name("FILE.json");
  peers->add_flag("--json", p.json, "print the report instead of the table");

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

namespace {

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
       "bytes a cache element (q8_0 1.0625); otherwise 2, or 4, this library's, for a checkpoint");
}

void add_calc_output(CLI::App* command, CalcOutput& output, bool plots) {
  CLI::Option* json = command->add_flag("--json", output.json, "for scripts");
  command->add_flag("--csv", output.csv, "for spreadsheets")->excludes(json);
  if (plots)
    command->add_option("--plot", output.plot, "draw NAME.png and NAME.svg, and in the terminal")->type_name("NAME");
}

}  // namespace

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
  memory->add_option("--memory", m.memory, "of one GPU, with its unit: GB and GiB are 2^30 bytes, MB and MiB 2^20")
      ->capture_default_str()
      ->type_name("SIZE");
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

}  // namespace rungs
