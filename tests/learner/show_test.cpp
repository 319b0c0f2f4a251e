// rungs show of lessons, from the solution and from a learner's file, and --diff.
#include <nlohmann/json.hpp>

#include "contains.hpp"
#include "learner/learner.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

TEST_SUITE_BEGIN("learner");

namespace {

std::string changed(std::string code, const std::string& from, const std::string& to) {
  const size_t at = code.find(from);
  REQUIRE(at != code.npos);
  return code.replace(at, from.size(), to);
}

/// The first matrix of a drawing.
json first_matrix(const json& drawing) {
  for (const json& section : drawing["sections"])
    for (const json& picture : section["pictures"])
      if (picture["kind"] == "matrix") return picture;
  return {};
}

/// The leaves of a tree, from left to right.
std::string leaves_of(const json& node) {
  if (!node.contains("children")) return node["text"];
  std::string text;
  for (const json& child : node["children"]) text += leaves_of(child);
  return text;
}

/// Weights of a token for one that follows it.
double seen_of_the_future(const json& matrix) {
  double most = 0;
  for (size_t t = 0; t < matrix["values"].size(); ++t)
    for (size_t s = t + 1; s < matrix["values"][t].size(); ++s)
      most = std::max(most, matrix["values"][t][s].get<double>());
  return most;
}

}  // namespace

TEST_CASE("show draws every lesson that has a picture, from the solution, and says so") {
  Learner learner;
  for (const char* lesson : {"02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14"}) {
    CAPTURE(lesson);
    CHECK(learner.types(std::string("show ") + lesson) == 0);
    CHECK(learner.out == Contains("Drawn from the solution.\n"));
    CHECK(learner.types(std::string("show --json ") + lesson) == 0);
    CHECK(!json::parse(learner.out)["sections"].empty());
  }
  CHECK(learner.types("show 21") == 0);
  CHECK(learner.out == Contains("no code ran"));
  CHECK(learner.types("show 16") == 2);
  CHECK(learner.text == Contains("lesson 16_cuda_first has no picture; 02, 03,"));
}

TEST_CASE("the mask can be seen: lesson 5 reads the future, lesson 6 does not") {
  Learner learner;
  REQUIRE(learner.types("show 5 --json") == 0);
  CHECK(seen_of_the_future(first_matrix(json::parse(learner.out))) > 0.1);
  REQUIRE(learner.types("show 6 --json") == 0);
  CHECK(seen_of_the_future(first_matrix(json::parse(learner.out))) == 0);
}

TEST_CASE("show --mine draws the learner's own mask, right or wrong") {
  Learner learner;
  CHECK(learner.types("show 6 --mine") == 2);
  CHECK(learner.text == Contains("06_causal_mask.cpp is not there; `./rungs start 06` makes it"));
  learner.writes("06_causal_mask", changed(solution_of("06_causal_mask"), "s = t + 1", "s = t + 2"));
  REQUIRE(learner.types("show 6 --mine --json") == 0);
  const json drawing = json::parse(learner.out);
  CHECK(drawing["drawn_from"].get<std::string>() == Contains("06_causal_mask.cpp"));
  CHECK(seen_of_the_future(first_matrix(drawing)) > 0);
  learner.writes("06_causal_mask", "int");
  CHECK(learner.types("show 6 --mine") == 2);
  CHECK(learner.text == Contains("does not compile; `./rungs check 06` shows why"));
}

TEST_CASE("show --mine of a file that is not written names the step") {
  Learner learner;
  REQUIRE(learner.types("start 5") == 0);
  CHECK(learner.types("show 5 --mine") == 2);
  CHECK(learner.text == Contains("is not written to its end: step "));
}

TEST_CASE("show --mine of a file that is half written draws what there is, and says where it ends") {
  Learner learner;
  REQUIRE(learner.types("start 2") == 0);
  const std::string starter = read_text(learner.file("02_embedding"));
  const size_t begin = starter.find("not_written("), end = starter.find(";\n", begin);
  REQUIRE(end != starter.npos);
  const std::string step =
      "for (int64_t c = 0; c < C; ++c) x(t, c) = token_embedding(token, c) + position_embedding(t, c)";
  learner.writes("02_embedding", std::string(starter).replace(begin, end - begin, step));
  REQUIRE(learner.types("show 2 --mine --json") == 0);
  const json drawing = json::parse(learner.out);
  CHECK(drawing["sections"].size() == 1);
  CHECK(drawing["sections"][0]["heading"] == "The words of the vocabulary in two dimensions");
  CHECK(drawing["notes"].back().get<std::string>() == Contains("is not written to its end: step 2 of 6"));
}

TEST_CASE("show --model of a model between the decoder and LLaMA goes through its lesson") {
  Learner learner;
  for (const char* lesson : {"09_multi_head", "13_swiglu"}) {
    CAPTURE(lesson);
    REQUIRE(learner.types("show --json --model " RUNGS_SOURCE_DIR "/weights/hybrid/" + std::string(lesson)) == 0);
    const json drawing = json::parse(learner.out);
    CHECK(drawing["drawn_from"].get<std::string>() == Contains(lesson));
    CHECK(drawing["sections"][1]["pictures"].size() == 6);  // heads of layer 0
    CHECK(seen_of_the_future(first_matrix(drawing)) == 0);
    const json& lens = drawing["sections"][3]["pictures"][0];
    CHECK(lens["columns"] == json({"embedding", "layer 0", "layer 1"}));
  }
}

TEST_CASE("show --diff draws yours, the reference and the difference on one scale") {
  Learner learner;
  learner.writes("06_causal_mask", changed(solution_of("06_causal_mask"), "s = t + 1", "s = t + 2"));
  REQUIRE(learner.types("show 6 --diff --json") == 0);
  const json pictures = json::parse(learner.out)["sections"][0]["pictures"];
  REQUIRE(pictures.size() == 3);
  CHECK(pictures[0]["title"] == "yours");
  CHECK(pictures[1]["title"] == "the reference");
  CHECK(pictures[2]["title"] == "the difference");
  for (const json& picture : pictures) CHECK(picture["scale"] == pictures[0]["scale"]);
  CHECK(seen_of_the_future(pictures[0]) > 0);
  CHECK(seen_of_the_future(pictures[1]) == 0);
  size_t marked = 0;
  for (const bool mark : pictures[2]["marked"]) marked += mark;
  CHECK(marked > 0);

  CHECK(learner.types("show 6 --diff --tap scores") == 0);
  CHECK(learner.out == Contains("All values are within the tolerance."));
  CHECK(learner.types("show 6 --diff --tap wieghts") == 2);
  CHECK(learner.text == Contains("has no tap wieghts; there are scores, weights and out; did you mean weights?"));
  learner.writes("06_causal_mask", solution_of("06_causal_mask"));
  CHECK(learner.types("show 6 --diff") == 2);
  CHECK(learner.text == Contains("passes every case, so there is no difference to draw"));
}

TEST_CASE("show --diff draws the heads that are wrong, and names the others") {
  Learner learner;
  learner.writes("10_grouped_query",
                 changed(solution_of("10_grouped_query"), "head / (heads / kv_heads)", "head % kv_heads"));
  REQUIRE(learner.types("show 10 --diff") == 0);
  CHECK(learner.out == Contains("Heads 0 and 5 are right and not drawn."));
  CHECK(learner.out == Contains("\nhead 1\n"));
  CHECK(learner.out.find("\nhead 5\n") == std::string::npos);
}

TEST_CASE("show 14: every merge joins two tokens, up to those that encode gives") {
  Learner learner;
  REQUIRE(learner.types("show 14 --json --text ' took'") == 0);
  const json roots = json::parse(learner.out)["sections"][0]["pictures"][0]["roots"];
  REQUIRE(roots.size() == 2);  // a space and t; ook
  CHECK(roots[0]["text"] == "␣t");
  CHECK(roots[1]["text"] == "ook");
  CHECK(leaves_of(roots[0]) + leaves_of(roots[1]) == "␣took");
  CHECK(roots[1]["note"] == "3");
}

TEST_SUITE_END();
