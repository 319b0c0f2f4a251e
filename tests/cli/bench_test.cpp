#include <nlohmann/json.hpp>

#include "cli.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("cli");

namespace {

struct Files {
  TinyModel model;
  Folder folder;
  std::string bench = "bench cache --model " + model.path.string() + " --out " + (folder / "cache.json").string() + " ";
};

}  // namespace

TEST_CASE("bench cache without gnuplot says so, and still prints the table and writes the report") {
  const Files f;
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
  const Files f;
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
  const Files f;
  check_fails(f.bench + "--lengths 0", 2, "lengths: wanted at least 1, found 0");
  check_fails(f.bench + "--lengths 4,20 --tokens 5", 2,
              "lengths: a prompt of 20 and 5 tokens more are past the end of the model's context of 24");
  check_fails(f.bench + "--tokens 0", 2, "tokens: wanted at least 1, found 0");
  CHECK(run_rungs(f.bench + "--lengths four").status == 2);
  CHECK(f.folder.files().empty());
}

TEST_SUITE_END();
