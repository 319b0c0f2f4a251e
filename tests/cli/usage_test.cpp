#include <algorithm>
#include <iterator>
#include <sstream>

#include "cli.hpp"
#include "contains.hpp"
#include "suggest.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

TEST_CASE("closest finds what was probably meant, and nothing when nothing is near") {
  const std::vector<std::string> names = {"list", "run", "start", "check", "reset", "grade", "generate", "bench"};
  CHECK(closest("chekc", names) == "check");
  CHECK(closest("strat", names) == "start");
  CHECK(closest("gen", names) == "generate");
  CHECK(closest("benhc", names) == "bench");
  CHECK(closest("lits", names) == "list");
  CHECK(closest("run", names) == "run");
  CHECK(closest("frobnicate", names) == "");
  CHECK(closest("xyz", names) == "");
  CHECK(closest("", names) == "");
  CHECK(closest("list", {}) == "");
}

TEST_CASE("rungs alone prints its help") {
  const Outcome alone = run_rungs("");
  CHECK(alone.status == 0);
  CHECK(alone.err == "");
  CHECK(alone.out == golden("help", alone.out));
  const Outcome help = run_rungs("--help");
  CHECK(help.status == 0);
  CHECK(help.out == alone.out);
}

/// What a help text says, however a version of CLI11 lays it out: a default stands behind its type as "=2" or as "[2]",
/// and options that exclude each other stand as they lie in memory: so the words are sorted.
static std::vector<std::string> words(std::string help) {
  std::replace_if(
      help.begin(), help.end(), [](char c) { return c == '=' || c == '[' || c == ']'; }, ' ');
  std::istringstream text(help);
  std::vector<std::string> all{std::istream_iterator<std::string>(text), {}};
  std::sort(all.begin(), all.end());
  return all;
}

TEST_CASE("each command explains itself") {
  for (const std::string command :
       {"generate", "logits", "tokenize", "inspect", "convert", "bench cache", "bench batch", "bench engine",
        "bench paged", "bench peers", "calc memory", "calc intensity", "calc roofline", "grade", "show"}) {
    const Outcome help = run_rungs(command + " --help");
    CHECK(help.status == 0);
    std::string name = "help_" + command;
    std::replace(name.begin(), name.end(), ' ', '_');
    const std::string wanted = golden(name, help.out);
    INFO("wanted:\n", wanted, "found:\n", help.out);
    CHECK(words(help.out) == words(wanted));
  }
}

TEST_CASE("wrong usage ends with status 2 and one sentence") {
  check_fails("genrate", 2, "rungs has no command \"genrate\"; did you mean generate?");
  check_fails("frobnicate", 2, "rungs has no command \"frobnicate\"");
  check_fails("bench cahce", 2, "rungs bench has no command \"cahce\"; did you mean cache?");
  check_fails("bench", 2, "rungs bench needs a command: cache, batch, engine, serve, paged or peers");
  check_fails("generate --promt x", 2, "rungs generate has no option --promt; did you mean --prompt?");
  check_fails("generate --temperature=warm", 2, "Could not convert: --temperature = warm");
  check_fails("generate --prompt x --prompts y", 2, "--prompt excludes --prompts");
  check_fails("generate --prompt x --interactive", 2, "--prompt excludes --interactive");
  check_fails("logits --out x.npy --model weights/decoder", 2, "--tokens or --text is required");
  check_fails("logits --out x.npy --tokens y --text z", 2, "--tokens excludes --text");
  check_fails("logits --tokens x.npy --out y.npy --chunk 2 --no-cache", 2, "--chunk excludes --no-cache");
  check_fails("start", 2, "LESSON is required");
}

TEST_CASE("a number is read as people write it, and what is none is no number") {
  check_fails("generate --seed -1", 2, "--seed: wanted a whole number from 0 on, found \"-1\"");
  check_fails("generate --seed 18446744073709551616", 2,
              "--seed: wanted a whole number up to 18446744073709551615, found 18446744073709551616");
  check_fails("generate --max-tokens 1e3", 2, "--max-tokens: wanted a whole number, found \"1e3\"");
  check_fails("generate --max-tokens ''", 2, "--max-tokens: wanted a whole number, found \"\"");
  check_fails("generate --temperature ''", 2, "--temperature: wanted a number, found nothing");
  CHECK(run_rungs("generate --temperature 0 --max-tokens 012 --threads 01").out ==
        run_rungs("generate --temperature 0 --max-tokens 12").out);
}

TEST_CASE("what cannot be written is said, whoever writes it, and nothing half-written stays") {
  const Folder folder;
  const std::string err = folder / "err", stories = weights_directory() / "stories";
  for (const std::string& words :
       {std::string("list"), "inspect " + stories, std::string("generate --max-tokens 2"),
        std::string("generate --max-tokens 2 --json"), std::string("--version"), std::string("generate --help")}) {
    CAPTURE(words);
    const int status = std::system(("'" RUNGS_COMMAND "' " + words + " >/dev/full 2>" + err).c_str());
    CHECK(WEXITSTATUS(status) == 3);
    CHECK(read_text(err).ends_with("rungs: standard output could not be written to the end\n"));
  }
  const std::string file = folder / "model.gguf";
  const Outcome run = run_rungs("convert " + stories + " " + file, "ulimit -f 100;");
  CHECK(run.status == 3);
  CHECK(run.err == Contains("model.gguf: could not be written to the end: File too large"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // what the runs have said
}

TEST_SUITE_END();
