// The commands for those who use a model: generate, serve, logits, tokenize, inspect, convert.
#include <fmt/format.h>

#include "command_line.hpp"
#include "engine.hpp"
#include "parallel_engine.hpp"

namespace rungs {

void add_use(CommandLine& line) {
  GenerateCommand& g = line.generate;
  CLI::App* generate = add_command(line, line.app, "Use", "generate", "continue texts", [&line, &g] {
    if (line.app.get_subcommand("generate")->count("--draft-tokens") > 0 && !g.drafts())
      throw UsageError("--draft-tokens: wanted --draft MODEL or --prompt-lookup beside it, which guess them");
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
  const SampleOptions& usual = g.options.sampling;
  generate->add_option("--temperature", g.sampling.temperature, "0: always the most probable token")
      ->default_str(fmt::format("{}", usual.temperature));
  generate->add_option("--top-k", g.sampling.top_k, "draw from the k most probable tokens; 0: from all")
      ->default_str(fmt::format("{}", usual.top_k));
  generate
      ->add_option("--top-p", g.sampling.top_p, "draw from the fewest tokens whose probabilities reach p; 1: from all")
      ->default_str(fmt::format("{}", usual.top_p));
  generate->footer(
      "Of --temperature, --top-k and --top-p, what is not given is as the model's generation_config.json has it, where "
      "that says \"do_sample\": true.");
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
  convert->add_option("--bin-version", c.bin_version, "of a .bin: 0 or 1, both f32")->default_str("1");
  convert->add_flag("--json", c.json, "for scripts");
}

}  // namespace rungs
