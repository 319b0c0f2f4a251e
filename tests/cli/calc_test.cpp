#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "rungs/base/file.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("cli");

TEST_CASE("calc memory prints the course's tables, both counts side by side") {
  const Outcome run = run_rungs("calc memory --tp 1,8");
  CHECK(run.status == 0);
  CHECK(run.out == golden("calc_memory", run.out));
  const Outcome course = run_rungs("calc memory --formula course");
  CHECK(course.out.find("8,030,261,248") == std::string::npos);
  CHECK(course.out.find("5,614,665,728") != std::string::npos);
}

TEST_CASE("calc memory as JSON and CSV") {
  const json report = json::parse(run_rungs("calc memory --context 1k --tp 2,4 --json").out);
  CHECK(report["parameters"]["exact"]["total"] == 8030261248);
  CHECK(report["parameters"]["course"]["bytes"] == 2 * 5614665728);
  CHECK(report["rows"].size() == 4);
  CHECK(report["rows"][3]["gpus"] == 4);
  CHECK(report["rows"][3]["formula"] == "course");
  CHECK(report["rows"][3]["largest_batch"] == 2476);
  const Outcome csv = run_rungs("calc memory --context 1024,2048 --csv");
  CHECK(csv.out ==
        "formula,context,gpus,parameter_bytes,cache_bytes_per_request,largest_batch\n"
        "\"exact\",1024,1,16060522496,134217728,520\n\"course\",1024,1,11229331456,134217728,556\n"
        "\"exact\",2048,1,16060522496,268435456,260\n\"course\",2048,1,11229331456,268435456,278\n");
}

TEST_CASE("calc memory takes a checkpoint, and numbers in place of its own") {
  const std::string stories = (weights_directory() / "stories").string();
  const json report = json::parse(run_rungs("calc memory --json --model " + stories).out);
  CHECK(report["weight_bytes"] == 2);
  CHECK(report["cache_bytes"] == 4);
  CHECK(report["rows"][0]["context"] == 512);
  const json inspected = json::parse(run_rungs("inspect --json " + stories).out);
  CHECK(report["parameters"]["exact"]["total"] == inspected["parameters"]);
  CHECK(report["parameters"]["exact"]["bytes"] == inspected["memory"]["weights"]);
  CHECK(report["rows"][0]["cache_bytes_per_request"] == inspected["memory"]["cache"]);

  const json wide = json::parse(run_rungs("calc memory --json --kv-heads 32 --cache-bytes 1 --context 1024").out);
  CHECK(wide["rows"][0]["cache_bytes_per_request"] == 2 * 134217728);
  const json half = json::parse(run_rungs("calc memory --json --weight-bytes 0.5 --memory 8GB --context 1024").out);
  CHECK(half["rows"][0]["parameter_bytes"] == 8030261248 / 2);
}

TEST_CASE("calc memory refuses what makes no sense, and says what would") {
  check_fails("calc memory --model Lama-3-8B", 2,
              "model: \"Lama-3-8B\" is no file or directory, and no shape among Llama-2-7B, Llama-2-13B, Llama-2-70B, "
              "Llama-3-8B, Llama-3-70B, Llama-3.2-1B, Llama-3.2-3B, TinyLlama, stories15M, stories110M; did you mean "
              "Llama-3-8B?");
  check_fails("calc memory --layers 0", 2,
              "layers: wanted a positive whole number such as 4096 or 8B, found \"0\", which is less than 1");
  check_fails("calc memory --hidden-size -4096", 2,
              "hidden-size: wanted a positive whole number such as 4096 or 8B, found \"-4096\", which is less than 1");
  check_fails("calc memory --intermediate-size many", 2,
              "intermediate-size: wanted a positive whole number such as 4096 or 8B, found \"many\"");
  check_fails("calc memory --vocab-size 2000000000000000", 2,
              "vocab-size: wanted at most 2^40, found \"2000000000000000\"");
  check_fails("calc memory --layers 1T --hidden-size 1T --heads 1 --kv-heads 1", 2,
              "these sizes make a count of more than 63 bits");
  check_fails(
      "calc memory --context 128q", 2,
      "context: wanted a positive whole number such as 4096 or 128k, found \"128q\": there is no unit \"q\", but "
      "k, M");
  check_fails(
      "calc memory --memory 80XB", 2,
      "memory: wanted a size such as 80GB, found \"80XB\": there is no unit \"XB\", but B, KB, KiB, MB, MiB, GB, "
      "GiB, TB, TiB");
  for (const std::string bare : {"80", "8.5e10"})
    check_fails("calc memory --memory " + bare, 2,
                "memory: wanted a size with its unit, such as 80GB or 512MB, found \"" + bare + "\"");
  check_fails("calc memory --heads 33", 2, "heads: a hidden size of 4096 cannot be dealt out evenly to 33 heads");
  check_fails("calc memory --kv-heads 5", 2,
              "kv-heads: 32 query heads cannot be dealt out evenly to 5 key/value heads");
  check_fails("calc memory --tp 3", 2, "tp: 32 query heads cannot be dealt out evenly to 3 GPUs");
  check_fails("calc memory --weight-bytes 0", 2,
              "weight-bytes: wanted bytes of one element, such as 2 or 0.5, found \"0\"");
}

TEST_CASE("calc memory says by how much a model or a context is too large, and what fits") {
  check_fails("calc memory --model Llama-3-70B", 2,
              "Llama-3-70B: its parameters take 131.417 GiB, 51.417 GiB more than the 80.000 GiB of the device: "
              "--weight-bytes 1 (int8) or --tp 2 make it fit");
  CHECK(run_rungs("calc memory --model Llama-3-70B --tp 2").status == 0);
  CHECK(run_rungs("calc memory --model Llama-3-70B --weight-bytes 1").status == 0);
  check_fails("calc memory --context 1M", 2,
              "context: one request of 1,048,576 tokens needs 128.000 GiB of cache, and the parameters leave 65.042 of "
              "80.000 GiB: at most 532,827 tokens fit");
  CHECK(json::parse(run_rungs("calc memory --json --formula exact --context 532827").out)["rows"][0]["largest_batch"] ==
        1);
  CHECK(run_rungs("calc memory --context 532828").status == 2);
}

TEST_CASE("calc intensity derives the counts step by step, beside the course's") {
  const Outcome run = run_rungs("calc intensity");
  CHECK(run.status == 0);
  CHECK(run.out == golden("calc_intensity", run.out));
  const json report = json::parse(run_rungs("calc intensity --json --context 1024 --batch 1,16").out);
  CHECK(report["prefill"][0]["course"]["flops_per_byte"].get<double>() == doctest::Approx(71.310).epsilon(1e-5));
  CHECK(report["decode"][1]["own_caches"]["flops_per_byte"] == report["decode"][0]["own_caches"]["flops_per_byte"]);
  const Outcome csv = run_rungs("calc intensity --csv --context 1024 --batch 2");
  CHECK(csv.out.starts_with(
      "phase,context,batch,count,flops,bytes,flops_per_byte\n\"prefill\",1024,1,\"exact\",542113792.0,"));
  CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 6);
  check_fails("calc intensity --head-dim 0", 2,
              "head-dim: wanted a positive whole number such as 4096 or 8B, found \"0\", which is less than 1");
  check_fails("calc intensity --batch 1,x", 2, "batch: wanted a positive whole number such as 4096 or 8B, found \"x\"");
}

TEST_CASE("calc draws its plots where gnuplot is installed, and says so where it is not") {
  const Folder folder;
  const std::string plot = " --plot " + (folder / "figure").string();
  const Outcome without = run_rungs("calc intensity" + plot, "PATH=/nowhere");
  CHECK(without.status == 0);
  CHECK(without.err == "gnuplot is not installed, so there is no plot: sudo apt-get install gnuplot-nox\n");
  CHECK(folder.files().empty());
  if (std::system("command -v gnuplot >/dev/null 2>&1") != 0) {
    MESSAGE("SKIPPED: gnuplot is not installed");
    return;
  }
  CHECK(run_rungs("calc intensity" + plot).out.find("batch (requests)") != std::string::npos);
  CHECK(folder.files() == std::vector<std::string>{"figure.png", "figure.svg"});
  CHECK(run_rungs("calc roofline" + plot + " --csv").out.starts_with("phase,operation,flops,bytes,"));
  CHECK(read_text(folder / "figure.svg").find("arithmetic intensity (FLOP/byte)") != std::string::npos);
}

TEST_CASE("calc roofline predicts a model on a named device") {
  const Outcome run = run_rungs("calc roofline --device H200");
  CHECK(run.status == 0);
  CHECK(run.out == golden("calc_roofline", run.out));
  const json report = json::parse(run_rungs("calc roofline --json --device rtx4090 --model TinyLlama --batch 4").out);
  CHECK(report["flops_per_second"] == 165.2e12);
  CHECK(report["operations"].size() == 12);
  CHECK(report["operations"][0]["bound_by"] == "compute");
  CHECK(report["operations"][6]["bound_by"] == "memory");
}

TEST_CASE("calc roofline measures a model under this machine's own roof") {
  const std::string stories = (weights_directory() / "stories").string();
  const Outcome run = run_rungs("calc roofline --device measured --run --json --context 64 --model " + stories);
  CHECK(run.status == 0);
  const json report = json::parse(run.out);
  for (const json& operation : report["operations"]) {
    CAPTURE(operation["operation"]);
    CHECK(operation["measured_seconds"] > 0);
  }
  check_fails("calc roofline --device H300", 2,
              "device: wanted A100, H100, H200, RTX 4090 or measured, found \"H300\"; did you mean H100?");
  check_fails("calc roofline --run", 2, "run: this machine is measured, so wanted --device measured");
  check_fails("calc roofline --run --device measured", 2,
              "run: wanted a checkpoint as --model; `./rungs random-model DIR --shape Llama-3-8B` makes one");
  check_fails("calc roofline --run --device measured --context 512 --model " + stories, 2,
              "context: 512 tokens and one more are past the end of the model's context of 512");
}

TEST_CASE("an option's name of the version before works, and says the new one") {
  const Outcome wanted =
      run_rungs("calc memory --json --hidden-size 2048 --head-dim 64 --intermediate-size 512 --vocab-size 1k");
  const Outcome before = run_rungs("calc memory --json --width 2048 --head-width 64 --inner 512 --vocabulary 1k");
  CHECK(before.status == 0);
  CHECK(before.out == wanted.out);
  CHECK(before.err ==
        "--width is called --hidden-size now\n--head-width is called --head-dim now\n"
        "--inner is called --intermediate-size now\n--vocabulary is called --vocab-size now\n");
  const Outcome intensity = run_rungs("calc intensity --head-width 64");
  CHECK(intensity.out == run_rungs("calc intensity --head-dim 64").out);
  CHECK(intensity.err == "--head-width is called --head-dim now\n");
}

TEST_CASE("calc alone names its commands") {
  check_fails("calc", 2, "rungs calc needs a command: memory, intensity or roofline");
  check_fails("calc memroy", 2, "rungs calc has no command \"memroy\"; did you mean memory?");
}
