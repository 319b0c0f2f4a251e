#include <nlohmann/json.hpp>

#include "cli.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("cli");

namespace {

struct GenerateFiles {
  TinyModel model;
  Folder folder;
  std::string generate = "generate --model " + model.path.string() + " ", greedy = generate + "--temperature 0 ";
  std::string file(const std::string& name) const { return folder / name; }
};

}  // namespace

TEST_CASE("generate prints the continuation of a prompt, with and without the cache, and the prompt where asked") {
  const GenerateFiles f;
  const Outcome run = run_rungs(f.greedy + "--prompt 'the cat sat' --max-tokens 12");
  CHECK(run.status == 0);
  CHECK(run.err == "");
  CHECK(run.out == golden("generate", run.out));
  CHECK(run_rungs(f.greedy + "--prompt 'the cat sat' --max-tokens 12 --no-cache").out == run.out);
  CHECK(run_rungs(f.greedy + "--prompt 'the cat sat' --max-tokens 12", "NO_COLOR=1").out == run.out);
  const std::string echo = f.greedy + "--prompt 'the cat sat' --max-tokens 12 --echo";
  CHECK(run_rungs(echo).out == "the cat sat" + run.out);  // a pipe gets no colour
}

TEST_CASE("a cache in fewer bits tells the same story, and what cannot have one says so") {
  const std::string story = "generate --temperature 0 --max-tokens 40 --prompt 'Once upon a time' ";
  const Outcome exact = run_rungs(story);
  CHECK(exact.status == 0);
  for (const std::string dtype : {"bf16", "f16", "q8_0"}) {
    const Outcome run = run_rungs(story + "--cache-dtype " + dtype);
    CHECK(run.err == "");
    CHECK(run.out == exact.out);
  }
  CHECK(run_rungs(story + "--json --cache-dtype q8_0").out.find("\"cache_dtype\": \"q8_0\"") != std::string::npos);
  const GenerateFiles f;  // heads of 16
  const Outcome narrow = run_rungs(f.greedy + "--prompt 'the cat' --cache-dtype q8_0");
  CHECK(narrow.status == 2);
  CHECK(narrow.err.find("a KV cache in q8_0: wanted heads of a multiple of 32, found ") != std::string::npos);
  check_fails("generate --cache-dtype q4_0", 2, "--cache-dtype: q4_0 not in {f32,bf16,f16,q8_0}");
  check_fails("generate --cache-dtype f16 --no-cache", 2, "--cache-dtype excludes --no-cache");
  check_fails("generate --cache-dtype f16 --mine", 2, "--cache-dtype excludes --mine");
}

TEST_CASE(
    "what is not said is as in Meta's own program: temperature 0.6, top-p 0.9, 64 tokens or the end of the context") {
  const GenerateFiles f;
  const std::string model = "generate --prompt 'the cat' --model " + f.model.path.string();
  const Outcome usual = run_rungs(model), said = run_rungs(model + " --temperature 0.6 --top-p 0.9 --max-tokens 64");
  CHECK(usual.status == 0);
  CHECK(usual.out == said.out);
  const json out = json::parse(run_rungs(model + " --json").out);
  const std::string finish = out["sequences"][0]["finish"];
  CHECK((finish == "stop" || finish == "context"));
  if (finish == "context") CHECK(usual.err == "the text ended: the context of 24 tokens is full\n");
}

TEST_CASE("what no option says of the draws is as generation_config.json has it, where that samples") {
  const GenerateFiles f;
  const std::string model = f.generate + "--prompt 'the cat' --max-tokens 16 ", file = "generation_config.json";
  using Values = std::vector<double>;
  const auto drawn = [&](const std::string& options) {
    const json out = json::parse(run_rungs(model + "--json " + options).out);
    return Values{out.at("temperature"), out.at("top_k"), out.at("top_p")};
  };
  CHECK(drawn("") == Values{0.6, 0, 0.9});
  write_file(f.model.folder / file, R"({"do_sample": true, "temperature": 2, "top_k": 3})");
  CHECK(drawn("") == Values{2, 3, 0.9});
  CHECK(drawn("--temperature 0 --top-p 1") == Values{0, 3, 1});
  CHECK(drawn("--top-k 0") == Values{2, 0, 0.9});
  CHECK(run_rungs(model).out == run_rungs(model + "--temperature 2 --top-k 3 --top-p 0.9").out);
  const Outcome stats = run_rungs(model + "--stats");
  CHECK(stats.err.starts_with("Drawn with temperature 2, top-k 3, top-p 0.9: what no option says is as " +
                              (f.model.path / file).string() + " has it\n"));
  CHECK(run_rungs(model + "--stats --temperature 2 --top-k 3").err.find("Drawn") == std::string::npos);
  for (const char* greedy : {R"({"temperature": 2, "top_k": 3})", R"({"do_sample": false, "temperature": 2})"}) {
    write_file(f.model.folder / file, greedy);
    CHECK(drawn("") == Values{0.6, 0, 0.9});
  }
}

TEST_CASE("several prompts on the command line are continued as those of a file, each as it would be alone") {
  const GenerateFiles f;
  write_file(f.folder / "prompts", "the cat\na\n");
  const Outcome file = run_rungs(f.greedy + "--max-tokens 6 --prompts " + f.file("prompts"));
  const Outcome line = run_rungs(f.greedy + "--max-tokens 6 --prompt 'the cat' --prompt a");
  CHECK(file.status == 0);
  CHECK(line.out == file.out);
}

TEST_CASE("interactive: prompts line by line until an empty one, and what is wrong with one does not end the rest") {
  const GenerateFiles f;
  const auto alone = [&](const char* prompt) {
    return run_rungs(f.greedy + "--max-tokens 6 --prompt '" + prompt + "'").out;
  };
  write_file(f.folder / "lines", "the cat\nthe Z\n\xe9\naaaaaaaaaaaaaaaaaaaaaaaaa\na\n\nthe cat\n");
  const Outcome talk = run_rungs(f.greedy + "--max-tokens 6 --interactive <" + f.file("lines"));
  CHECK(talk.status == 0);
  CHECK(talk.out == alone("the cat") + alone("a"));  // no sign asks for a prompt where no person sits
  CHECK(talk.err ==
        "rungs: byte 0x5A at offset 4 of the text has no token\n"
        "rungs: the prompt is not UTF-8: byte 0xE9 at offset 0 belongs to no character\n"
        "rungs: the prompt has 27 tokens, which leaves no room for one more in the context of 24\n");
  write_file(f.folder / "lines", "the cat\r\na\r\n\r\nthe cat\r\n");  // as Windows ends lines
  CHECK(run_rungs(f.greedy + "--max-tokens 6 --interactive <" + f.file("lines")).out == alone("the cat") + alone("a"));
  write_file(f.folder / "lines", "a");
  CHECK(run_rungs(f.greedy + "--max-tokens 6 --interactive <" + f.file("lines")).out == alone("a"));
}

TEST_CASE("--context limits a text, and --stats says how fast it came") {
  const GenerateFiles f;
  const Outcome run = run_rungs(f.greedy + "--prompt 'the cat' --context 8 --json");
  const json out = json::parse(run.out);
  CHECK(out["sequences"][0]["tokens"].size() == 5);
  CHECK(out["sequences"][0]["finish"] == "context");
  CHECK(out["tokens_per_second"] > 0);
  const Outcome stats = run_rungs(f.greedy + "--prompt 'the cat' --max-tokens 4 --stats");
  CHECK(stats.err.starts_with("3 tokens of prompt in 0."));
  CHECK(stats.err.ends_with(" tokens per second\n"));
  CHECK(stats.err.find("then 3 tokens in 0.") != std::string::npos);
}

TEST_CASE("--tokenizer names another one than the model's") {
  const GenerateFiles f;
  const std::string moved = f.file("moved.json");
  std::filesystem::rename(f.model.folder / "vocabulary.json", moved);
  CHECK(run_rungs(f.greedy + "--max-tokens 4").status == 3);
  const Outcome run = run_rungs(f.greedy + "--max-tokens 4 --tokenizer " + moved);
  CHECK(run.status == 0);
  CHECK(run.out == golden("generate_alone", run.out));
}

TEST_CASE("a seed decides what is drawn") {
  const GenerateFiles f;
  const std::string draws = f.generate + "--prompt 'the cat' --max-tokens 16 --temperature 1 --top-k 20 --top-p 0.95 ";
  const Outcome first = run_rungs(draws);
  CHECK(first.status == 0);
  CHECK(first.err == "");
  const std::string zero = first.out;
  CHECK(zero == golden("generate_sampled", zero));
  CHECK(run_rungs(draws + "--seed 0").out == zero);
  CHECK(run_rungs(draws + "--no-cache").out == zero);
  CHECK(run_rungs(draws + "--seed 1").out != zero);
}

TEST_CASE("without a prompt the model begins by itself") {
  const GenerateFiles f;
  const Outcome run = run_rungs(f.greedy + "--max-tokens 4");
  CHECK(run.status == 0);
  CHECK(run.out == golden("generate_alone", run.out));
}

TEST_CASE("a trace shows positions, tokens and text of every step") {
  const GenerateFiles f;
  for (const std::string cache : {"", "--no-cache"}) {
    const Outcome run = run_rungs(f.greedy + "--prompt 'the cat' --max-tokens 4 --trace " + cache);
    CHECK(run.status == 0);
    CHECK(run.out == golden(cache.empty() ? "trace" : "trace_no_cache", run.out));
  }
}

TEST_CASE("every line of a prompts file is continued as it would be alone") {
  const GenerateFiles f;
  write_file(f.folder / "prompts", "the cat\na\r\non the mat");
  const Outcome run = run_rungs(f.greedy + "--prompts " + f.file("prompts") + " --max-tokens 6");
  CHECK(run.status == 0);
  std::string alone;
  for (const std::string prompt : {"the cat", "a", "on the mat"})
    alone += (alone.empty() ? "" : "\n") + run_rungs(f.greedy + "--max-tokens 6 --prompt '" + prompt + "'").out;
  CHECK(run.out == alone);
}

TEST_CASE("--json holds what a script needs") {
  const GenerateFiles f;
  write_file(f.folder / "prompts", "the cat\na\n");
  const Outcome run = run_rungs(f.greedy + "--json --trace --echo --max-tokens 5 --prompts " + f.file("prompts"));
  CHECK(run.status == 0);
  const json out = json::parse(run.out);
  CHECK(out["sequences"].size() == 2);
  CHECK(out["sequences"][0]["prompt"] == "the cat");
  CHECK(out["sequences"][0]["prompt_tokens"] == json({0, 24, 25}));
  CHECK(out["sequences"][1]["text"].get<std::string>().starts_with("a"));
  for (const json& sequence : out["sequences"]) {
    const std::string finish = sequence["finish"];
    CHECK((finish == "stop" || sequence["tokens"].size() == 5));
  }
  CHECK(out["steps"][0]["tokens"] == json({0, 24, 25}));
  CHECK(out["steps"][0]["position"] == 3);
}

TEST_CASE("the LLaMA of weights/stories: the same text with the cache and without, alone and beside others") {
  const std::string greedy = "generate --temperature 0 --max-tokens 12 ";
  const std::string story = run_rungs(greedy + "--prompt 'Once upon a time'").out;
  CHECK(story.starts_with(", there was"));
  CHECK(run_rungs(greedy + "--prompt 'Once upon a time' --no-cache").out == story);
  const std::string french = run_rungs(greedy + "--prompt 'mother =>'").out;
  CHECK(run_rungs(greedy + "--prompt 'Once upon a time' --prompt 'mother =>'").out == story + "\n" + french);
  CHECK(french.starts_with(" m\xC3\xA8re"));  // two tokens make the accented letter
  check_fails("generate --draft-tokens 4", 2,
              "--draft-tokens: wanted --draft MODEL or --prompt-lookup beside it, which guess them");
  check_fails("generate --context 513", 2, "context: wanted 1 to 512, which is the model's, found 513");
  check_fails("generate --tokenizer '" + (weights_directory() / "decoder").string() + "'", 3,
              (weights_directory() / "decoder").string() +
                  ": this tokenizer has 379 tokens, the model's vocabulary (vocab_size) has 1024");
}

TEST_CASE("a .bin of llama2.c gives the text of the directory that it was made of") {
  const Folder folder;
  const std::string directory = (weights_directory() / "references/models/llama_mha").string(), bin = folder / "m.bin";
  CHECK(run_rungs("convert '" + directory + "' " + bin).status == 0);
  json tokens = {"<unk>", "<s>", "</s>", " "};
  for (char c = 'a'; tokens.size() < 31; ++c) tokens.push_back(std::string(1, c));
  write_file(folder / "words.json", json{{"tokens", tokens}, {"bos_token_id", 1}, {"eos_token_id", 2}}.dump());
  const std::string how =
      " --prompt 'abc' --temperature 0 --max-tokens 8 --tokenizer " + (folder / "words.json").string();
  const Outcome from_bin = run_rungs("generate --model " + bin + how);
  CHECK(from_bin.status == 0);
  CHECK(from_bin.out == run_rungs("generate --model '" + directory + "'" + how).out);
  CHECK(run_rungs("generate --model " + bin + " --prompt abc").status == 3);  // no tokenizer.bin beside it
}

TEST_CASE("what a user gives wrongly is refused with status 2") {
  const GenerateFiles f;
  const auto fails = [&](const std::string& arguments, const std::string& sentence) {
    check_fails(f.generate + arguments, 2, sentence);
  };
  fails("--prompt 'the Z'", "byte 0x5A at offset 4 of the text has no token");
  fails("--prompt ''", "the prompt is empty; without one the model begins by itself");
  fails("--prompt \"$(printf 'caf\\351')\"", "the prompt is not UTF-8: byte 0xE9 at offset 3 belongs to no character");
  fails("--prompt 'aaaaaaaaaaaaaaaaaaaaaaaaa'",
        "the prompt has 27 tokens, which leaves no room for one more in the context of 24");
  fails("--echo --prompt 'aaaaaaaaaaaaaaaaaaaaaaaaa'",
        "the prompt has 27 tokens, which leaves no room for one more in the context of 24");
  fails("--prompt 'the cat' --context 2",
        "the prompt has 3 tokens, which leaves no room for one more in the context of 2");
  fails("--context 25", "context: wanted 1 to 24, which is the model's, found 25");
  fails("--max-tokens 0", "max-tokens: wanted at least 1, found 0");
  fails("--temperature -1", "temperature: wanted a number of at least 0, found -1");
  fails("--top-p 0", "top-p: wanted a number above 0 and at most 1, found 0");
  fails("--top-p 1.01", "top-p: wanted a number above 0 and at most 1, found 1.01");
  fails("--top-k -2", "top-k: wanted at least 0, found -2");
}

TEST_CASE("a bad file is refused with status 3, naming it") {
  const GenerateFiles f;
  const std::string prompts = f.file("prompts"), with_file = f.generate + "--max-tokens 4 --prompts " + prompts;
  check_fails(with_file, 3, prompts + ": cannot be opened: No such file or directory");
  const auto fails = [&](const std::string& content, const std::string& sentence) {
    write_file(prompts, content);
    check_fails(with_file, 3, prompts + ": " + sentence);
  };
  fails("", "wanted one prompt a line, found an empty file");
  fails("the cat\n\na\n", "line 2: wanted a prompt, found an empty line");
  fails("the cat\ncaf\xc3\xa9\n", "line 2: byte 0xC3 at offset 3 of the text has no token");

  const std::string vocabulary = f.model.folder / "vocabulary.json";
  write_file(vocabulary, R"({"tokens": ["a", "b"], "bos_token_id": 0, "eos_token_id": 1})");
  check_fails(f.generate, 3,
              f.model.path.string() + ": this tokenizer has 2 tokens, the model's vocabulary (vocab_size) has 30");
  std::filesystem::remove(vocabulary);
  check_fails(
      f.generate, 3,
      f.model.path.string() + ": wanted tokenizer.json, tokenizer.model, vocabulary.json or tokenizer.bin, found none");
  std::filesystem::resize_file(f.model.folder / "model.safetensors", 5000);
  CHECK(run_rungs(f.generate).status == 3);
  check_fails("generate --model " + f.file("none"), 3,
              f.file("none/config.json") + ": cannot be opened: No such file or directory");
}

TEST_CASE("broken weights are named by the first tap that is not finite, with status 1") {
  const GenerateFiles f;
  f.model.break_weight("layers.0.feed_forward.up.bias");
  check_fails(
      f.generate + "--json --max-tokens 4", 1,
      "layers.0.up is the first tensor that is not finite: the weights in " + f.model.path.string() + " are broken");
}

TEST_SUITE_END();
