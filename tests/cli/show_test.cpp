// rungs show of whole models.
#include <nlohmann/json.hpp>

#include "cli.hpp"
#include "contains.hpp"
#include "rungs/base/file.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("cli");

static const std::string weights = RUNGS_SOURCE_DIR "/weights/";

TEST_CASE("show --model: every head of every layer reads what came before it, all of it together") {
  for (const char* name : {"decoder", "stories"}) {
    const Outcome shown = run_rungs("show --json --text 'Tom had a dog.' --model " + weights + name);
    REQUIRE(shown.status == 0);
    const json drawing = json::parse(shown.out);
    size_t heads = 0;
    for (const json& section : drawing["sections"])
      for (const json& picture : section["pictures"]) {
        if (picture["kind"] != "matrix" || picture.contains("texts")) continue;
        ++heads;
        for (size_t t = 0; t < picture["values"].size(); ++t) {
          double sum = 0;
          for (size_t s = 0; s < picture["values"][t].size(); ++s) {
            const double weight = picture["values"][t][s];
            sum += weight;
            CHECK((weight == 0) == (s > t));
          }
          CHECK(std::fabs(sum - 1) < 1e-5);
        }
      }
    CHECK(heads == (std::string(name) == "decoder" ? 2 : 30));
  }
}

TEST_CASE("show --model: the last layer predicts what generate says") {
  for (const char* name : {"decoder", "stories"}) {
    const std::string text = "'Lily had a red ball. She took the'", model = weights + name;
    const json drawing = json::parse(run_rungs("show --json --text " + text + " --model " + model).out);
    const json& lens = drawing["sections"][drawing["sections"].size() - 2]["pictures"][0];
    const std::string last = lens["texts"].back();
    const Outcome generated =
        run_rungs("generate --temperature 0 --max-tokens 1 --prompt " + text + " --model " + model);
    CHECK(generated.out == " " + last + "\n");
  }
}

TEST_CASE("show --model: of a text of 10,000 tokens the first are drawn, and the rest is counted") {
  Folder folder;
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += " the";
  const Outcome shown = run_rungs("show --model " + weights + "decoder --text '" + text + "'", "COLUMNS=40");
  CHECK(shown.status == 0);
  CHECK(shown.out == Contains("10,001 tokens"));
  CHECK(shown.out == Contains("the first 64"));
}

TEST_CASE("show --model draws a GGUF file with the tokens of its own tokenizer") {
  Folder folder;
  const std::string file = folder / "stories.gguf";
  REQUIRE(run_rungs("convert " + weights + "stories " + file).status == 0);
  const json from_file = json::parse(run_rungs("show --json --text 'The cat' --model " + file).out);
  const json from_directory = json::parse(run_rungs("show --json --text 'The cat' --model " + weights + "stories").out);
  CHECK(from_file["sections"] == from_directory["sections"]);
}

TEST_CASE("show --model writes one page") {
  Folder folder;
  const std::string page = folder / "page.html";
  const Outcome shown = run_rungs("show --model " + weights + "decoder --html " + page);
  CHECK(shown.status == 0);
  CHECK(shown.out == Contains("for a browser"));
  CHECK(read_text(page).starts_with("<!doctype html>"));
}

TEST_CASE("show: what cannot be drawn is said in a sentence") {
  const std::string decoder = "--model " + weights + "decoder ";
  check_fails(
      "show", 2,
      "show: wanted a lesson (./rungs show 06) or a model (./rungs show --model weights/stories), found neither");
  check_fails("show 6 " + decoder, 2, "LESSON excludes --model");
  check_fails("show --mine " + decoder, 2, "--mine and --diff are about a lesson: ./rungs show 06 --diff");
  check_fails("show 6 --tap weights", 2, "--tap is part of --diff: ./rungs show 06 --diff --tap weights");
  check_fails("show 6 --diff --text x", 2,
              "--diff draws the case that failed, which has its own input: leave --text out");
  check_fails("show --text '' " + decoder, 2, "the text to show is empty");
  check_fails("show --text 'caf\xc3\xa9' " + decoder, 2, "byte 0xC3 at offset 3 of the text has no token");
  check_fails("show --model " + weights + "nothing", 3,
              weights + "nothing/config.json: cannot be opened: No such file or directory");
  check_fails("show --html /nowhere/page.html " + decoder, 3,
              "/nowhere/page.html: cannot be written: No such file or directory");
}

TEST_SUITE_END();
