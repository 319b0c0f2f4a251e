// `rungs generate --tensor-parallel` as a user runs it, under mpirun.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli.hpp"
#include "parallel/ranks.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("mpi");

namespace {

/// Without MPI the program must say so.
bool no_mpi() {
  if (RUNGS_HAS_MPI) return false;
  check_fails(
      "generate --tensor-parallel", 2,
      "this rungs was built without MPI, over which ranks talk: install Open MPI (on Debian libopenmpi-dev) and "
      "build again");
  MESSAGE("SKIPPED: there is no MPI here");
  return true;
}

/// Root must say that it means it; there may be more ranks than processors. Ranks of one machine share memory: of TCP,
/// which they do not use, Open MPI 5.0.7 may say on all ranks at once, in pieces, that no two interfaces reach each
/// other.
const std::string mpirun =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^tcp "
    "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 "
    "timeout -k 5 60 mpirun --oversubscribe ";

/// `prefix` stands before rungs on every rank.
Outcome on_ranks(int ranks, const std::string& arguments, const std::string& prefix = "") {
  return run_rungs(arguments + " --tensor-parallel", mpirun + fmt::format("-n {} {}", ranks, prefix));
}

/// Two ranks with arguments of their own. (mpirun's own way to say it, "-n 1 A : -n 1 B", crashes Open MPI 5.0.7.)
Outcome two_programs(const std::string& first, const std::string& second) {
  return on_ranks(2, first,
                  fmt::format("sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 0 ]; then exec \"$0\" \"$@\"; fi; exec \"$0\" "
                              "{} --tensor-parallel'",
                              second));
}

/// One rank gets a signal, in MPI_Init, a second after it or in MPI_Finalize (tests/parallel/lost_rank.cpp).
constexpr const char *at_begin = "RUNGS_LOST_AT_BEGIN", *soon = "RUNGS_LOST", *at_end = "RUNGS_LOST_AT_END";
std::string lost(int rank, const char* when, int signal) {
  return fmt::format(
      "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = {} ]; then export LD_PRELOAD={} {}={}; fi; exec \"$0\" \"$@\"'", rank,
      RUNGS_LOST_RANK, when, signal);
}

/// What is not Open MPI's: its own lines begin with the machine's name in brackets, and where there is no /sys hwloc
/// complains.
std::string said_by_rungs(const std::string& err) {
  std::istringstream lines(err);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('[') && !line.starts_with("hwloc/")) text += line + "\n";
  return text;
}

/// Work for longer than it may take to notice anything. A high temperature seldom draws the end of a text.
std::string long_work(const Folder& folder) {
  std::string prompts;
  for (int i = 0; i < 600; ++i) prompts += "Once upon a time\n";
  return "generate --max-tokens 500 --temperature 3 --top-p 1 --prompts " +
         write_file(folder / "prompts", prompts).string();
}

}  // namespace

TEST_CASE("ranks of mpirun write the text of one process, once") {
  if (no_mpi()) return;
  const std::string command = "generate --prompt 'Once upon a time' --prompt 'The dog' --max-tokens 30 --seed 5";
  const Outcome alone = run_rungs(command);
  for (const int ranks : {1, 2, 6}) {
    CAPTURE(ranks);
    const Outcome run = on_ranks(ranks, command);
    CHECK(run.status == 0);
    CHECK(run.out == alone.out);
  }
}

TEST_CASE("random grouped-query shapes write the same on 1, 2, 4 and 8 ranks, which sent what the formula says") {
  if (no_mpi()) return;
  const Folder folder;
  for (const int64_t kv_heads : {8, 2, 1}) {
    const Config shape = random_shape(8, kv_heads, 200, 131, false);
    const auto path = folder / std::to_string(kv_heads);
    std::filesystem::create_directories(path);
    save_random_llama(path, shape, DType::f32, 5);
    const std::string command = "generate --json --temperature 0 --max-tokens 20 --prompt abc --model " + path.string();
    const json alone = json::parse(run_rungs(command).out);
    const json& sequence = alone["sequences"][0];
    for (const int ranks : {1, 2, 4, 8}) {
      CAPTURE(kv_heads);
      CAPTURE(ranks);
      const Outcome run = on_ranks(ranks, command);
      REQUIRE(run.status == 0);
      const json got = json::parse(run.out), sent = got["ranks"];
      CHECK(got["sequences"][0] == sequence);
      const auto steps = int64_t(sequence["tokens"].size()), prompt = int64_t(sequence["prompt_tokens"].size());
      const Traffic first = traffic_of_call(shape, prompt, 1, 0, ranks), step = traffic_of_call(shape, 1, 1, 0, ranks);
      const int64_t drawn = steps * 4 * (ranks - 1), compared = 4 * 8 * (ranks - 1);  // tokens; hashes at the start
      CHECK(sent["all_reduces"] == steps * (2 * shape.num_layers + 1));
      CHECK(sent["all_gathers"] == steps + 2);
      CHECK(sent["broadcasts"] == steps);
      CHECK(sent["bytes_sent"] == first.bytes_sent + (steps - 1) * step.bytes_sent + drawn + compared);
    }
  }
}

// The story model's text at temperature 0: no two of its logits are as near as another order of sums moves them.
TEST_CASE("ranks with kernels write the CPU's text on 1 and 2 ranks, and sent what those of the CPU send") {
  if (no_mpi()) return;
  const std::string command = "generate --json --prompt 'Once upon a time' --max-tokens 12 --temperature 0";
  for (const int ranks : {1, 2}) {
    const json cpu = json::parse(on_ranks(ranks, command).out);
    for (const std::string backend : {"cuda", "cuda-naive"}) {
      CAPTURE(ranks);
      CAPTURE(backend);
      const Outcome run = on_ranks(ranks, command + " --on emulator --backend " + backend);
      REQUIRE(run.status == 0);
      CHECK(said_by_rungs(run.err) == "");
      const json got = json::parse(run.out);
      CHECK(got["sequences"][0]["tokens"] == cpu["sequences"][0]["tokens"]);
      CHECK(got["ranks"] == cpu["ranks"]);
    }
  }
  const Outcome f16 = on_ranks(2, command + " --on emulator --backend cuda --cache-dtype f16");  // which the CPU has
  CHECK(f16.status != 0);
  CHECK(said_by_rungs(f16.err).find("a KV cache of CUDA: wanted f32, found f16; the CPU has the others") !=
        std::string::npos);
}

TEST_CASE("a number of ranks that cannot share the heads is refused once, with those that can") {
  if (no_mpi()) return;
  const Outcome run = on_ranks(4, "generate --prompt Once");
  CHECK(run.status != 0);
  CHECK(run.out == "");
  const std::string sentence =
      "6 query heads and 2 key/value heads cannot be dealt out evenly to 4 ranks; they can to "
      "1, 2, 6\n";
  CHECK(run.err.find(sentence) != std::string::npos);
  CHECK(run.err.find(sentence) == run.err.rfind(sentence));
}

TEST_CASE("a rank that is stopped or killed ends the others, and a sentence names it") {
  if (no_mpi()) return;
  const Folder folder;
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const Outcome stopped = on_ranks(2, long_work(folder) + " --rank-timeout 1.5", lost(rank, soon, SIGSTOP));
    CHECK(stopped.status != 0);
    CHECK(stopped.status != 124);  // of timeout: it hung
    CHECK_MESSAGE(stopped.err.find(fmt::format("rungs: rank {} has not answered for 1.5 s", rank)) != std::string::npos,
                  stopped.err);
    CHECK(stopped.err.find(fmt::format("rungs: rank {} ", 1 - rank)) == std::string::npos);
    const Outcome killed = on_ranks(2, long_work(folder), lost(rank, soon, SIGKILL));
    CHECK(killed.status != 0);
    CHECK(killed.status != 124);
    CHECK_MESSAGE(killed.err.find(fmt::format("process rank {}", rank)) != std::string::npos, killed.err);
  }
}

TEST_CASE("a rank that is stopped before it begins or while it ends, where MPI itself waits, ends the others") {
  if (no_mpi()) return;
  const std::string command = "generate --prompt Once --max-tokens 3";
  const auto says = [](const Outcome& run, const std::string& sentence) {
    CHECK(run.status == 1);
    CHECK_MESSAGE(run.err.find("rungs: " + sentence + "\n") != std::string::npos, run.err);
  };
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const Outcome before = on_ranks(
        2, command + " --rank-timeout 1",
        fmt::format("sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = {} ]; then kill -STOP $$; fi; exec \"$0\" \"$@\"'", rank));
    says(before, fmt::format("rank {} has not begun within 6 s: it was stopped, or did not start", rank));
    CHECK(before.out == "");
    const Outcome first = on_ranks(2, command + " --rank-timeout 2", lost(rank, at_begin, SIGSTOP));
    says(first, fmt::format("rank {} has not answered for 2 s: it was stopped", rank));
    CHECK(first.out == "");
    const Outcome last = on_ranks(2, command + " --rank-timeout 2", lost(rank, at_end, SIGSTOP));
    says(last, fmt::format("rank {} has not ended within 2 s: it was stopped", rank));
    if (rank == 1) CHECK(last.out == run_rungs(command).out);
  }
}

TEST_CASE("where ranks have machines of their own, the sentence of one that does not begin names none") {
  if (no_mpi()) return;
  const Outcome run =
      on_ranks(2, "generate --prompt Once --max-tokens 3 --rank-timeout 1",
               "sh -c 'export OMPI_COMM_WORLD_LOCAL_SIZE=1; if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then kill -STOP $$; "
               "fi; exec \"$0\" \"$@\"'");
  CHECK(run.status == 1);
  CHECK_MESSAGE(
      run.err.find("rungs: the ranks have not all begun within 6 s: one was stopped, or its machine cannot be "
                   "reached\n") != std::string::npos,
      run.err);
}

TEST_CASE("ranks with different files, options or no files end at once, and a sentence names the one") {
  if (no_mpi()) return;
  const Folder folder;
  for (const int64_t seed : {1, 2}) {
    std::filesystem::create_directories(folder / std::to_string(seed));
    save_random_llama(folder / std::to_string(seed), random_shape(8, 2, 200, 131, false), DType::f32, uint64_t(seed));
  }
  const std::string use = "generate --prompt abc --max-tokens 5 --model ", one = use + (folder / "1").string();
  const std::string alike = "wanted the same program, files and options on every rank\n";
  const std::pair<std::string, std::string> wrong[] = {
      {use + (folder / "2").string(), "rungs: rank 1 has other weights than rank 0: " + alike},
      {one + " --prompt b", "rungs: rank 1 has other prompts or options than rank 0: " + alike},
      {one + " --context 40", "rungs: rank 1 has a model of another shape than rank 0: " + alike},
      {use + (folder / "3").string(), "rungs: rank 1: " + (folder / "3").string() + "/config.json: cannot be opened"}};
  for (const auto& [second, sentence] : wrong) {
    const Outcome run = two_programs(one, second);
    CHECK(run.status != 0);
    CHECK(run.out == "");
    CHECK_MESSAGE(run.err.find(sentence) != std::string::npos, run.err);
  }
}

TEST_SUITE_END();
