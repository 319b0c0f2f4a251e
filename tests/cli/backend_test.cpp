#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "rungs/tensor/npy.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("cli");

namespace {

const std::string backends[] = {"cuda-naive", "cuda"};

std::string on_host(const std::string& backend) { return " --backend " + backend + " --on emulator"; }

}  // namespace

TEST_CASE("generate gives the CPU's text on each backend") {
  const TinyModel tiny;
  for (const std::string& command :
       {"generate --max-tokens 12 --temperature 0 --prompt 'the cat' --model " + tiny.path.string(),
        std::string("generate --max-tokens 6 --prompt 'Once upon a time' --prompt 'The dog' --seed 3")}) {
    const Outcome cpu = run_rungs(command);
    CHECK(cpu.status == 0);
    for (const std::string& backend : backends) {
      CAPTURE(backend);
      const Outcome run = run_rungs(command + on_host(backend));
      CHECK(run.status == 0);
      CHECK(run.err == "");
      CHECK(run.out == cpu.out);
    }
  }
}

// The tolerance of a reference is 8 times its error, which is at least four roundings of the largest value.
TEST_CASE("logits and taps are those of the CPU on each backend") {
  const TinyModel tiny;
  const Folder folder;
  const auto run = [&](const std::string& name, const std::string& options) {
    const std::string path = (folder / name).string();
    const Outcome outcome = run_rungs("logits --model " + tiny.path.string() + " --text 'the cat sat on' --out " +
                                      path + ".npy --taps " + path + options);
    CHECK(outcome.err == "");
    return folder / name;
  };
  const auto cpu = run("cpu", "");
  for (const std::string& backend : backends) {
    CAPTURE(backend);
    const auto device = run(backend, on_host(backend));
    for (const std::string name : {".npy", "/x.npy", "/layers.1.attn_out.npy", "/layers.1.x.npy"}) {
      CAPTURE(name);
      const Tensor want = load_npy(cpu.string() + name), got = load_npy(device.string() + name);
      double most = 0;
      for (const double x : values(want)) most = std::max(most, std::fabs(x));
      CHECK(compare(got, want, {.absolute = 32 * unit_roundoff * most}).pass);
    }
  }
}

TEST_CASE("--on host, the name of the version before, works and says the new one once") {
  const TinyModel tiny;
  const std::string generate = "generate --max-tokens 2 --prompt a --temperature 0 --model " + tiny.path.string();
  const Outcome wanted = run_rungs(generate + on_host("cuda"));
  for (const std::string old_name : {" --on host", " --on=host"}) {
    const Outcome before = run_rungs(generate + " --backend cuda" + old_name);
    CHECK(before.status == 0);
    CHECK(before.out == wanted.out);
    CHECK(before.err == "--on host is called --on emulator now\n" + wanted.err);
  }
}

TEST_CASE("bench cache measures a backend and says which") {
  const TinyModel tiny;
  const Folder folder;
  const Outcome run = run_rungs("bench cache --json --lengths 4 --tokens 2 --model " + tiny.path.string() + " --out " +
                                (folder / "cache.json").string() + on_host("cuda"));
  CHECK(run.status == 0);
  CHECK(json::parse(run.out)["backend"] == "cuda on emulator");
}

TEST_CASE("where a backend cannot be used one sentence says what to do") {
  const TinyModel tiny;
  const std::string generate = "generate --max-tokens 2 --prompt a --model " + tiny.path.string();
  check_fails(generate + " --on emulator", 2, "--on requires --backend");
  check_fails(generate + " --mine --backend cuda-naive", 2,
              "--mine runs your kernels: --backend cuda, or cpu; cuda-naive is the first rung of each of ours");
  check_fails(generate + " --backend gpu", 2, "--backend: gpu not in {cpu,cuda-naive,cuda}");
  const Outcome gpu = run_rungs(generate + " --backend cuda");
  if (gpu.status == 0) return;  // there is one
  CHECK(gpu.status == 2);
  CHECK(gpu.err.find("with --on emulator the same kernels run on the processor\n") != std::string::npos);
  CHECK(std::count(gpu.err.begin(), gpu.err.end(), '\n') == 1);
}

TEST_SUITE_END();
