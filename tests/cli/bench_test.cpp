#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("cli");

namespace {

struct BenchFiles {
  TinyModel model;
  Folder folder;
  std::string bench = "bench cache --model " + model.path.string() + " --out " + (folder / "cache.json").string() + " ";
};

}  // namespace

TEST_CASE("bench cache without gnuplot says so, and still prints the table and writes the report") {
  const BenchFiles f;
  const Outcome run = run_rungs(f.bench + "--lengths 4,8 --tokens 6", "PATH=/nowhere");
  CHECK(run.status == 0);
  CHECK(run.out.find("prompt (tokens)   without (s)      with (s)     ratio") != std::string::npos);
  CHECK(run.out.find("gnuplot is not installed, so there is no plot") != std::string::npos);
  CHECK(f.folder.files() == std::vector<std::string>{"cache.json"});
  const json report = json::parse(read_text(f.folder / "cache.json"));
  CHECK(report["by_prompt_length"].size() == 2);
  CHECK(report["by_prompt_length"][1]["prompt"] == 8);
  CHECK(report["by_prompt_length"][1]["tokens"] == 6);
  CHECK(report["by_prompt_length"][1]["seconds_with"] > 0);
}

TEST_CASE("bench cache draws the pictures where gnuplot is installed") {
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0) {
    MESSAGE("SKIPPED: gnuplot is not installed");
    return;
  }
  const BenchFiles f;
  const Outcome run = run_rungs(f.bench + "--lengths 4,8 --tokens 6");
  CHECK(run.status == 0);
  CHECK(f.folder.files() == std::vector<std::string>{"cache.json", "cache.png", "cache.svg"});
  CHECK(read_text(f.folder / "cache.png").starts_with("\x89PNG"));
  CHECK(read_text(f.folder / "cache.svg").find("</svg>") != std::string::npos);
  CHECK(run.out.find("length of the prompt (tokens)") != std::string::npos);
  const Outcome piped = run_rungs(f.bench + "--lengths 4 --tokens 2 --json");
  CHECK(json::parse(piped.out) == json::parse(read_text(f.folder / "cache.json")));
}

TEST_CASE("bench cache refuses lengths that cannot be measured") {
  const BenchFiles f;
  check_fails(f.bench + "--lengths 0", 2, "lengths: wanted at least 1, found 0");
  check_fails(f.bench + "--lengths 4,20 --tokens 5", 2,
              "lengths: a prompt of 20 and 5 tokens more are past the end of the model's context of 24");
  check_fails(f.bench + "--tokens 0", 2, "tokens: wanted at least 1, found 0");
  CHECK(run_rungs(f.bench + "--lengths four").status == 2);
  CHECK(f.folder.files().empty());
}

namespace {

/// A LLaMA of few weights that knows as many positions as wanted.
struct TinyLlama {
  explicit TinyLlama(int64_t context, int64_t layers = 2) {
    Config c = *preset("stories15M");
    c.max_seq_len = context, c.hidden_size = 16, c.num_heads = 2, c.num_kv_heads = 2, c.head_dim = 8,
    c.intermediate_size = 32, c.num_layers = layers;
    c.vocab_size = 100;
    save_random_llama(folder.path(), c, DType::bf16, 1);
  }
  Folder folder;
  std::string bench = "bench batch --model " + folder.path().string() + " --out " + (folder / "batch.json").string();
};

}  // namespace

TEST_CASE("bench batch without gnuplot says so, and still prints the tables and writes the report") {
  const TinyLlama tiny(64);
  const Outcome run = run_rungs(tiny.bench + " --batch 1,3 --input 8 --output 4 --threads 1", "PATH=/nowhere");
  CHECK(run.status == 0);
  CHECK(run.err == "");
  CHECK(run.out.find("batch  cache   measured predicted  error   measured predicted  error  tokens/s") != run.out.npos);
  CHECK(run.out.find("predicted 13,600: +0.0%") != run.out.npos);
  CHECK(run.out.find("without / with run time  peak memory") != run.out.npos);
  CHECK(run.out.find("gnuplot is not installed, so there is no plot") != run.out.npos);
  CHECK(!std::filesystem::exists(tiny.folder / "batch.png"));
  const json report = json::parse(read_text(tiny.folder / "batch.json"));
  CHECK(report["threads"] == 1);
  CHECK(report["weights"]["bytes"] == report["weights"]["predicted_bytes"]);
  REQUIRE(report["rows"].size() == 4);
  CHECK(report["rows"][2]["batch"] == 3);
  CHECK(report["rows"][2]["cache"] == false);
  CHECK(report["rows"][3]["cache"] == true);
  CHECK(report["rows"][3]["predicted"]["cache"] == 3 * 2 * 2 * 12 * 16 * 4);  // sequences, K and V, layers, tokens, f32
  CHECK(report["rows"][2]["predicted"]["cache"] == 0);
  const double seconds = report["rows"][3]["seconds"], tokens_per_second = report["rows"][3]["tokens_per_second"];
  CHECK(seconds > 0);
  CHECK(tokens_per_second == doctest::Approx(3 * 4 / seconds));
  CHECK(report["without_over_with"].size() == 2);
}

TEST_CASE("bench batch draws the pictures where gnuplot is installed") {
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0) {
    MESSAGE("SKIPPED: gnuplot is not installed");
    return;
  }
  const TinyLlama tiny(64);
  const Outcome run = run_rungs(tiny.bench + " --batch 1,2 --input 4 --output 2 --threads 1");
  CHECK(run.status == 0);
  CHECK(run.err == "");
  CHECK(read_text(tiny.folder / "batch.png").starts_with("\x89PNG"));
  CHECK(read_text(tiny.folder / "batch.svg").find("</svg>") != std::string::npos);
  CHECK(run.out.find("batch (sequences)") != run.out.npos);
  const Outcome piped = run_rungs(tiny.bench + " --batch 1 --input 4 --output 2 --threads 1 --json");
  CHECK(json::parse(piped.out) == json::parse(read_text(tiny.folder / "batch.json")));
}

TEST_CASE("bench batch measures a backend and says which") {
  const TinyLlama tiny(64);
  const Outcome run = run_rungs(tiny.bench + " --batch 1 --input 4 --output 2 --json --backend cuda --on emulator");
  CHECK(run.status == 0);
  const json report = json::parse(run.out);
  CHECK(report["backend"] == "cuda on emulator");
  CHECK(report["rows"][0]["predicted_seconds"].is_null());  // the roof is that of another machine
}

#ifndef __SANITIZE_ADDRESS__  // which takes memory for itself
TEST_CASE("the peak memory that bench batch predicts is the one that it measures") {
  const Folder folder;
  save_random_llama(folder.path(), *preset("stories15M"), DType::bf16, 1);
  const Outcome run = run_rungs("bench batch --json --batch 1,4 --input 32 --output 4 --model " +
                                folder.path().string() + " --out " + (folder / "batch.json").string());
  CHECK(run.status == 0);
  for (const json& row : json::parse(run.out)["rows"]) {
    CAPTURE(row.dump());
    if (row["peak_bytes"].is_null()) continue;  // this kernel does not let a process reset its peak
    CHECK(std::abs(row["peak_error"].get<double>()) < 0.05);
  }
}
#endif

TEST_CASE("bench batch refuses what is no batch and no length") {
  const TinyLlama tiny(64);
  const auto refuses = [&](const std::string& options, const std::string& sentence) {
    check_fails(tiny.bench + options, 2, sentence);
  };
  refuses(" --batch 0", "batch: wanted from 1 to 1048576, found 0");
  refuses(" --batch 4,-1", "batch: wanted from 1 to 1048576, found -1");
  refuses(" --batch 2000000", "batch: wanted from 1 to 1048576, found 2000000");
  refuses(" --batch four", "--batch: wanted a whole number, found \"four\"");
  refuses(" --batch 99999999999999999999",
          "--batch: wanted a whole number up to 9223372036854775807, found 99999999999999999999");
  refuses(" --input 0", "input: wanted at least 1, found 0");
  refuses(" --input=-3", "input: wanted at least 1, found -3");
  refuses(" --input many", "--input: wanted a whole number, found \"many\"");
  refuses(" --input 4 --output 0", "output: wanted at least 1, found 0");
  refuses(" --input 4 --output=-3", "output: wanted at least 1, found -3");
  refuses(" --output many", "--output: wanted a whole number, found \"many\"");
  refuses(" --input 60 --output 5", "input and output: 60 and 5 tokens are more than the model's context of 64");
  refuses(
      " --input 9223372036854775807 --output 9223372036854775807",
      "input and output: 9223372036854775807 and 9223372036854775807 tokens are more than the model's context of 64");
  CHECK(!std::filesystem::exists(tiny.folder / "batch.json"));
}

TEST_CASE("bench engine measures every call that the context has room for") {
  const TinyLlama tiny(140);
  const Folder folder;
  const Outcome run = run_rungs("bench engine --json --threads 2 --model " + tiny.folder.path().string() + " --out " +
                                (folder / "engine.json").string());
  REQUIRE_MESSAGE(run.status == 0, run.err);
  CHECK(folder.files() == std::vector<std::string>{"engine.json"});
  const json report = json::parse(run.out);
  std::vector<std::string> tasks;
  for (const json& task : report["tasks"]) {
    tasks.push_back(task["task"].get<std::string>() + " on " + std::to_string(task["threads"].get<int>()));
    CHECK(task["seconds"] > 0);
    CHECK(task["share_of_limit"] > 0);
  }
  CHECK(tasks == std::vector<std::string>{"decode on 1", "decode on 2", "batch of 2 on 2", "batch of 4 on 2",
                                          "batch of 8 on 2", "batch of 16 on 2", "prompt of 13 on 2",
                                          "prompt of 16 on 2", "prompt of 32 on 2", "prompt of 64 on 2",
                                          "prompt of 128 on 2"});
}

TEST_CASE("bench engine refuses what it cannot measure") {
  const std::string decoder = (weights_directory() / "decoder").string();
  check_fails("bench engine --model " + decoder, 2,
              decoder + ": wanted a LLaMA, found a model of type \"rungs_decoder\"");
  const TinyLlama tiny(12);
  check_fails("bench engine --model " + tiny.folder.path().string(), 2,
              tiny.folder.path().string() + ": wanted a context of 13 tokens or more, found 12");
}

TEST_CASE("bench serve gives every request its tokens, in each way to serve") {
  const TinyLlama tiny(140);
  const std::string command = "bench serve --requests 12 --seed 4 --model " + tiny.folder.path().string();
  const Outcome run = run_rungs(command + " --slots 3 --shared 20 --rate 500 --json");
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const json report = json::parse(run.out);
  REQUIRE(report["modes"].size() == 3);
  double tokens = 0;
  for (const json& mode : report["modes"]) {
    const double made = double(mode["tokens_per_second"]) * double(mode["seconds"]);
    if (tokens == 0) tokens = made;
    CHECK(made == doctest::Approx(tokens));  // the same requests in each
    CHECK(mode["first_token_p50"] <= mode["first_token_p99"]);
    CHECK((mode["prompt_tokens_found"] > 0) == (mode["mode"] == "continuous, shared prefixes"));
  }
  CHECK(tokens >= 12 * 8);
  const Outcome table = run_rungs(command);
  CHECK(table.out.find("static batches") != std::string::npos);
  const Outcome emulated = run_rungs(command + " --backend cuda --on emulator --json");
  REQUIRE_MESSAGE(emulated.status == 0, emulated.err);
  CHECK(json::parse(emulated.out)["modes"].size() == 3);
  check_fails(command + " --backend cuda-naive", 2, "--backend: cuda-naive not in {cpu,cuda}");
  check_fails(command + " --slots 0", 2, "--slots: wanted 1 to 1024, found 0");
  check_fails(command + " --clients 4", 2, "--clients: wanted --http URL, too, of the server that they ask");
  check_fails(command + " --minutes 0", 2, "--minutes: wanted a number above 0, 1440 at most, found 0");
  check_fails(command + " --shared 63", 2, "--shared: wanted 0 to 62, found 63");
}

TEST_CASE("bench paged measures both caches for each batch and past, and refuses what there is not") {
  const TinyLlama tiny(40);
  const std::string command = "bench paged --model " + tiny.folder.path().string();
  const Outcome run = run_rungs(command + " --rounds 1 --block-size 3 --cache-dtype bf16 --json");
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const json report = json::parse(run.out);
  std::vector<std::pair<int64_t, int64_t>> cases;
  for (const json& task : report["tasks"]) {
    cases.emplace_back(task["batch"], task["past"]);
    const double contiguous = task["contiguous_tokens_per_second"], paged = task["paged_tokens_per_second"];
    CHECK(contiguous > 0);
    CHECK(double(task["ratio"]) == doctest::Approx(paged / contiguous));  // of the one round
  }
  CHECK(cases == std::vector<std::pair<int64_t, int64_t>>{{1, 5}, {1, 39}, {16, 5}, {16, 39}});
  const Outcome table = run_rungs(command + " --batch 2 --past 7 --rounds 2");
  CHECK(table.out.find("batch 2 behind 7") != std::string::npos);
  const Outcome on_cuda = run_rungs(command + " --batch 2 --past 7 --rounds 1 --backend cuda --on emulator --json");
  REQUIRE_MESSAGE(on_cuda.status == 0, on_cuda.err);
  CHECK(json::parse(on_cuda.out)["backend"] == "cuda on emulator");
  check_fails(command + " --cache-dtype bf16 --backend cuda --on emulator", 2,
              "a KV cache of CUDA: wanted f32, found bf16; the CPU has the others");
  check_fails(command + " --past 40", 2, "--past: wanted 0 to 39, found 40");
  check_fails(command + " --batch 0", 2, "--batch: wanted 1 to 256, found 0");
  check_fails(command + " --rounds 0", 2, "--rounds: wanted 1 to 1000, found 0");
}

namespace {

/// A model, and programs in the place of llama.cpp's and llama2.c's that print what those do.
struct Peers {
  Peers() {
    const std::string from = "convert " + tiny.folder.path().string() + " ";
    REQUIRE(run_rungs(from + (folder / "m.gguf").string()).status == 0);
    REQUIRE(run_rungs(from + (folder / "m.bin --bin-version 0").string()).status == 0);
    REQUIRE(run_rungs(from + (folder / "new.bin").string()).status == 0);
    program("llama-bench", R"(echo '[{"avg_ts": 100.0}]')");
    program("llama-batched-bench", R"(echo noise; echo '{"speed_tg": 200.0}')");
    program("run", "echo 'achieved tok/s: 300.000000' >&2");
  }
  void program(const std::string& name, const std::string& line) const {
    write_file(folder / name, "#!/bin/sh\n" + line + "\n");
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  }
  std::string with(const std::string& model, const std::string& peer, int rounds = 2) const {
    return fmt::format("bench peers --rounds {} --threads 1 --model {} --{}", rounds, (folder / model).string(), peer);
  }
  TinyLlama tiny{140};
  Folder folder;
};

}  // namespace

TEST_CASE("bench peers compares with what other engines print") {
  const Peers peers;
  const Outcome cpp =
      run_rungs(peers.with("m.gguf", "llama-cpp ") + peers.folder.path().string() + " --json", "LC_ALL=C");
  REQUIRE_MESSAGE(cpp.status == 0, cpp.err);
  const json report = json::parse(cpp.out);
  CHECK(report["peer"] == "llama.cpp");
  REQUIRE(report["tasks"].size() == 10);
  for (const json& task : report["tasks"]) {
    const bool batch = task["task"].get<std::string>().starts_with("batch");
    CHECK(task["peer"] == (batch ? 200.0 : 100.0));
    CHECK(task["least_ratio"] <= task["ratio"]);
    CHECK(task["ratio"].get<double>() == doctest::Approx(task["rungs"].get<double>() / (batch ? 200 : 100)));
  }
  const Outcome c = run_rungs(peers.with("m.bin", "llama2c ") + (peers.folder / "run").string());
  CHECK(c.status == 0);
  CHECK(c.out.find("llama2.c") != std::string::npos);
  CHECK(c.out.find("decode ") != std::string::npos);
  CHECK(c.out.find("prompt") == std::string::npos);
  peers.program("llama-bench", R"(echo '[{"avg_ts": 123456.7}]')");
  const Outcome table = run_rungs(peers.with("m.gguf", "llama-cpp ", 1) + peers.folder.path().string());
  CHECK(table.out.find("      123457 ") != std::string::npos);
  CHECK(table.out.find("       200 ") != std::string::npos);
  const Outcome only =
      run_rungs(peers.with("m.gguf", "llama-cpp ") + peers.folder.path().string() + " --json --only 'batch of'");
  REQUIRE_MESSAGE(only.status == 0, only.err);
  CHECK(json::parse(only.out)["tasks"].size() == 4);
}

TEST_CASE("bench peers keeps what it measured before a peer crashes") {
  const Peers peers;
  peers.program("llama-batched-bench", "kill -ILL $$");
  const Outcome run = run_rungs(peers.with("m.gguf", "llama-cpp ") + peers.folder.path().string() + " --json");
  CHECK(run.status == 1);
  CHECK(run.err.find(": crashed (Illegal instruction)") != std::string::npos);
  const json report = json::parse(run.out);
  REQUIRE(report["tasks"].size() == 1);
  CHECK(report["tasks"][0]["task"] == "decode");
  CHECK(report["tasks"][0]["peer"] == 100.0);
  peers.program("llama-bench", "exit 255");  // no signal has so high a number
  CHECK(
      run_rungs(peers.with("m.gguf", "llama-cpp ") + peers.folder.path().string()).err.find("ended with status 255") !=
      std::string::npos);
}

TEST_CASE("bench peers asks a peer again that printed nothing, but not for ever") {
  const Peers peers;
  const std::string command =
      peers.with("m.gguf", "llama-cpp ", 1) + peers.folder.path().string() + " --json --only 'batch of 2'";
  peers.program("llama-batched-bench",
                R"(cd "${0%/*}"; echo >>asked; test $(wc -l <asked) -lt 3 || echo '{"speed_tg": 200.0}')");
  const Outcome third = run_rungs(command);
  REQUIRE_MESSAGE(third.status == 0, third.err);
  CHECK(json::parse(third.out)["tasks"][0]["peer"] == 200.0);
  CHECK(read_text(peers.folder / "asked") == "\n\n\n");
  peers.program("llama-batched-bench", "true");
  CHECK(run_rungs(command).err.find(": printed no results, five times") != std::string::npos);
}

TEST_CASE("bench peers says that llama2.c has nothing to do with so short a context") {
  const TinyLlama tiny(40);
  const Folder folder;
  const std::string model = (folder / "m.bin").string(), run = (folder / "run").string();
  REQUIRE(run_rungs("convert " + tiny.folder.path().string() + " " + model + " --bin-version 0").status == 0);
  write_file(run, "");
  check_fails("bench peers --model " + model + " --llama2c " + run, 2,
              model + ": wanted a context of more than 64 tokens to measure decoding, found fewer");
}

TEST_CASE("bench peers says what is missing") {
  const Peers peers;
  const std::string here = peers.folder.path().string(), nowhere = (peers.folder / "nowhere").string();
  check_fails(peers.with("m.gguf", "llama-cpp ") + nowhere, 2,
              "llama-cpp: wanted a folder with llama-bench, in it, in bin or in build/bin, found none in " + nowhere);
  check_fails(peers.with("m.bin", "llama2c ") + nowhere, 2,
              "llama2c: wanted its program, called run, found no file " + nowhere);
  check_fails(peers.with("m.bin", "llama-cpp ") + here, 2,
              "model: wanted a .gguf, which llama.cpp reads, too, found " + (peers.folder / "m.bin").string() +
                  "; `rungs convert` makes one");
  check_fails(peers.with("new.bin", "llama2c ") + (peers.folder / "run").string(), 2,
              "model: wanted a .bin of version 0, which llama2.c's run reads, found version 1; `./rungs convert "
              "--bin-version 0` makes one");
  check_fails("bench peers --model x.gguf", 2, "wanted one of --llama-cpp and --llama2c");
  check_fails(peers.with("m.gguf", "llama-cpp ", 0) + here, 2, "rounds: wanted 1 to 100, found 0");
  check_fails(peers.with("m.gguf", "llama-cpp ") + here + " --only decoding", 2,
              "only: wanted a part of a name in the table, found decoding");
  peers.program("llama-bench", "echo '[{}]'");
  const Outcome silent = run_rungs(peers.with("m.gguf", "llama-cpp ") + here);
  CHECK(silent.status == 1);
  CHECK(silent.err.find("wanted \"avg_ts\" in what it prints, found none") != std::string::npos);
  peers.program("run", "exit 3");
  CHECK(run_rungs(peers.with("m.bin", "llama2c ") + (peers.folder / "run").string()).err.find("ended with status") !=
        std::string::npos);
}

TEST_CASE("bench batch says before it begins that a batch or a context needs more memory than is free") {
  const TinyLlama tiny(1 << 24, 256);  // 32 KiB of cache for a token
  const auto said = [&](const std::string& options) {
    const Outcome run = run_rungs(tiny.bench + options);
    CHECK(run.status == 2);
    CHECK(run.out == "");
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    return run.err;
  };
  const std::string batch = said(" --batch 1000000 --input 10000 --output 1");
  CHECK(batch.starts_with("rungs: a batch of 1000000 sequences of 10001 tokens needs 298 TiB of memory, of which "));
  const std::string words = "the largest that fits is ";
  REQUIRE(batch.find(words) != batch.npos);
  const int64_t fits = std::stoll(batch.substr(batch.find(words) + words.size()));
  CHECK(fits >= 1);
  CHECK(fits < 1000000);

  const std::string context = said(" --batch 1 --input 16000000 --output 1");
  CHECK(context.starts_with("rungs: a batch of 1 sequence of 16000001 tokens needs "));
  CHECK(context.ends_with(" are free: not even one sequence fits\n"));
}

TEST_SUITE_END();
