// What a learner types, in a work/ of its own (RUNGS_WORK): start, check, reset, list, grade.
#include <algorithm>

#include "contains.hpp"
#include "learner/learner.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("learner");

TEST_CASE("every lesson: the starter fails with its first step, and the solution in its place passes") {
  for (const Lesson& l : find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR)) {
    Learner learner;
    const std::string number = l.short_name();
    INFO(l.name);
    REQUIRE(learner.types("start " + number) == 0);
    CHECK(read_text(learner.file(l.name)) == read_text(l.starter));

    CHECK(learner.types("check " + number) == 1);
    CHECK(learner.text == Contains("The next thing to write is\n      step 1 of "));
    CHECK(learner.text.find("nown mistake") == std::string::npos);
    CHECK(learner.types("list") == 0);
    CHECK(learner.text == Contains("started"));
    CHECK(learner.text == Contains("\n0 of "));

    learner.writes(l.name, solution_of(l.name));
    CHECK(learner.types("check " + number) == 0);
    CHECK(learner.text == Contains("Pass rate: 100.00%"));
    CHECK(learner.text == Contains("Passed."));
    CHECK(learner.types("list") == 0);
    CHECK(learner.text == Contains("\n1 of "));
  }
}

TEST_CASE("a starter that calls lessons below it fails for its own steps alone") {
  const Lesson& l = lesson_called("06_causal_mask");
  const Grade g = grade(l, Suite::evaluate, {program("06_causal_mask_starter"), "mine", "the starter"});
  CHECK(g.passed == 0);
  for (const Verdict& v : g.verdicts) CHECK(v.summary == Contains("not written yet: step "));
}

TEST_CASE("start does not overwrite, reset keeps what was there") {
  Learner learner;
  learner.writes("06_causal_mask", "// mine\n");
  CHECK(learner.types("start 6") == 2);
  CHECK(learner.text == Contains("is already there; `"));
  CHECK(learner.text == Contains("rungs check 06` grades it, `"));
  CHECK(learner.text == Contains("rungs reset 06` begins anew"));
  CHECK(read_text(learner.file("06_causal_mask")) == "// mine\n");

  CHECK(learner.types("reset 6") == 0);
  CHECK(learner.text == Contains("what you had is in"));
  CHECK(read_text(learner.work / "06_causal_mask.before_reset_1.cpp") == "// mine\n");
  CHECK(read_text(learner.file("06_causal_mask")) == read_text(lesson_called("06_causal_mask").starter));
  CHECK(learner.types("reset 6") == 0);
  CHECK(std::filesystem::exists(learner.work / "06_causal_mask.before_reset_2.cpp"));
  CHECK(read_text(learner.work / "06_causal_mask.before_reset_1.cpp") == "// mine\n");
}

TEST_CASE("run runs the solution until the learner's file has passed, and says whose code it is") {
  Learner learner;
  CHECK(learner.types("run 6") == 0);
  CHECK(learner.text == Contains("The solution's code runs.\n"));
  const std::string printed = learner.out, code = solution_of("06_causal_mask"), right = "s = t + 1";
  CHECK(learner.types("run 6 --mine") == 2);
  CHECK(learner.text == Contains("06_causal_mask.cpp is not there"));

  std::string wrong = code;
  learner.writes("06_causal_mask", wrong.replace(code.find(right), right.size(), "s = t + 2"));
  CHECK(learner.types("run 6") == 0);
  CHECK(learner.text == Contains("yours does when it has passed, or with --mine"));
  CHECK(learner.out == printed);
  learner.types("run 6 --mine");
  CHECK(learner.text == Contains("06_causal_mask.cpp, which has not passed."));
  CHECK(learner.out != printed);

  learner.writes("06_causal_mask", code);
  CHECK(learner.types("check 6") == 0);
  CHECK(learner.types("run 6") == 0);
  CHECK(learner.text == Contains("Your code runs: "));
  CHECK(learner.out == printed);
  CHECK(learner.types("run 6 --solution") == 0);
  CHECK(learner.text == Contains("The solution's code runs.\n"));
}

TEST_CASE("a text goes into the programs of the lessons that take one") {
  Learner learner;
  const std::string text = "Mia lost her kite", with_text = " --text '" + text + "'";
  for (const char* number :
       {"02", "03", "04", "05", "06", "07", "08", "08b", "09", "10", "11", "12", "13", "14", "15", "20", "27"}) {
    CAPTURE(number);
    const bool numbers_alone = std::string(number) == "11" || std::string(number) == "12";
    CHECK(learner.types("run " + std::string(number)) == 0);
    const std::string usual = learner.out;
    CHECK(usual.find("kite\n") == usual.npos);
    CHECK(learner.types("run " + std::string(number) + with_text) == 0);
    CHECK(learner.out != usual);
    if (!numbers_alone) CHECK(learner.out == Contains("kite"));
  }
}

TEST_CASE("a text goes into the learner's code, and a quote is no end of it") {
  Learner learner;
  const std::string code = solution_of("05_attention"), text = " --text \"Mia's kite\"";
  CHECK(learner.types("run 5" + text) == 0);
  const std::string right = learner.out;
  CHECK(right == Contains("kite"));
  learner.writes("05_attention", code);
  CHECK(learner.types("run 5 --mine" + text) == 0);
  CHECK(learner.text == Contains("Your code runs: "));
  CHECK(learner.out == right);
  learner.writes("05_attention", with(code, "std::sqrt(float(D))", "float(D)"));
  CHECK(learner.types("run 5 --mine" + text) == 0);
  CHECK(learner.out != right);
}

TEST_CASE("every stretch: its starter fails with its first step, its solution passes, and nothing is counted") {
  const std::vector<Lesson> stretches = find_stretches(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR);
  CHECK(stretches.size() >= 5);
  for (const Lesson& l : stretches) {
    Learner learner;
    const std::string number = l.name.substr(0, 2);
    INFO(l.name);
    REQUIRE(learner.types("start " + number + " --stretch") == 0);
    CHECK(learner.out == Contains(("check " + l.short_name() + "\n").c_str()));
    CHECK(read_text(learner.file(l.name)) == read_text(l.starter));
    CHECK(learner.types("check " + number + " --stretch") == 1);
    CHECK(learner.text == Contains("The next thing to write is\n      step 1 of "));
    CHECK(learner.text.find("solution.cpp") == std::string::npos);

    learner.writes(l.name, solution_of(l.name));
    CHECK(learner.types("check") == 0);  // the file saved last
    CHECK(learner.text == Contains("Pass rate: 100.00%"));
    CHECK(learner.text ==
          Contains(("Compare yours with lessons/" + l.name + "/solution.cpp. A stretch counts nowhere: ").c_str()));
    CHECK(learner.types("list") == 0);
    CHECK(learner.out == Contains("\n0 of "));
    CHECK(learner.out.find(l.name) == std::string::npos);
  }
}

TEST_CASE("a stretch names the tensor that goes wrong, and the mistake") {
  Learner learner;
  learner.writes("09s_alibi", with(solution_of("09s_alibi"), "- slopes(h) * float(", "+ slopes(h) * float("));
  CHECK(learner.types("check 09s") == 1);
  CHECK(learner.text == Contains("weights is the first tensor that differs"));
  CHECK(learner.text == Contains("the bias is added: tokens far away win."));
  CHECK(learner.text == Contains("Read: walkthrough, \"Stretch: ALiBi\""));
}

TEST_CASE("a blank start gives signatures, which compile, and a tensor can be printed without an include") {
  Learner learner;
  CHECK(learner.types("start 6 --blank") == 0);
  const std::string file = read_text(learner.file("06_causal_mask"));
  CHECK(file == Contains("not_written(\"sdpa, all of it\");"));
  CHECK(file.find("step ") == std::string::npos);
  learner.writes("06_causal_mask", with(file, "  not_written(\"sdpa", "  print(\"query\", q);\n  not_written(\"sdpa"));
  CHECK(learner.types("check 6") == 1);
  CHECK(learner.text == Contains("sdpa, all of it."));
  CHECK(learner.text == Contains("  | query"));
}

TEST_CASE("nothing to check, nothing to reset") {
  Learner learner;
  CHECK(learner.types("check 6") == 2);
  CHECK(learner.text == Contains("there is nothing to check: "));
  CHECK(learner.text == Contains("rungs start 06` makes it"));
  CHECK(learner.types("reset 6") == 2);
  CHECK(learner.text == Contains("is not there"));
  CHECK(learner.work.files().empty());
}

TEST_CASE("a file that does not compile, or lacks a function") {
  Learner learner;
  std::string code = solution_of("06_causal_mask");
  const std::string line = "  const int64_t T = q.dim(0), D = q.dim(1);\n";
  const size_t at = code.find(line);
  REQUIRE(at != code.npos);
  std::string broken = code;
  learner.writes("06_causal_mask", broken.replace(at, line.size(), "  const int64_t T = q.dims(0), D = q.dim(1);\n"));
  CHECK(learner.types("check 6") == 1);
  CHECK(learner.text == Contains("06_causal_mask.cpp:"));
  CHECK(learner.text == Contains("error: "));
  CHECK(learner.text == Contains("does not compile; the first error above is the one to look at."));
  for (const char* noise : {"ninja", "FAILED", "-O0", "Pass rate"})
    CHECK(learner.text.find(noise) == std::string::npos);
  CHECK(learner.types("grade 6") == 1);
  CHECK(learner.text == Contains("It does not compile"));

  learner.writes("06_causal_mask", "#include \"lesson.hpp\"\n");
  CHECK(learner.types("check 6") == 1);
  CHECK(learner.text == Contains("lacks a function that lesson.hpp declares:\n  lesson_06::"));
  CHECK(learner.text == Contains("\n  lesson_06::sdpa("));
  CHECK(learner.text.find("undefined") == std::string::npos);
}

TEST_CASE("a build that fails before a compiler runs says why") {
  Learner learner;
  learner.writes("06_causal_mask", solution_of("06_causal_mask"));
  const Folder tools;
  const std::string path = std::getenv("PATH");
  write_file(tools / "cmake", "#!/bin/sh\n[ -z \"$SAYS\" ] || echo \"ninja: error: $SAYS\"\nexit 1\n");
  std::filesystem::permissions(tools / "cmake", std::filesystem::perms::owner_all);
  setenv("PATH", (tools.path().string() + ":" + path).c_str(), 1);
  for (const std::string says : {"unknown target", ""}) {
    setenv("SAYS", says.c_str(), 1);
    CHECK(learner.types("check 6") == 1);
    CHECK(learner.text.find("ninja: error: " + says + "\n") == (says.empty() ? std::string::npos : 0));
    CHECK(learner.text == Contains("06_causal_mask.cpp was not built: `cmake --build "));
    CHECK(learner.text == Contains(" --target 06_causal_mask_mine` says more."));
  }
  unsetenv("SAYS");
  setenv("PATH", path.c_str(), 1);
}

TEST_CASE("a list of passes that cannot be read is kept, and said") {
  Learner learner;
  learner.writes("01_tensor", solution_of("01_tensor"));
  write_file(learner.work / "progress.json", "{\"01_tensor\": 5,}");
  CHECK(learner.types("list") == 0);
  CHECK(learner.text == Contains("progress.json is no JSON object: it is kept as "));
  CHECK(read_text(learner.work / "progress.json.unreadable") == "{\"01_tensor\": 5,}");
  CHECK(learner.types("list") == 0);
  CHECK(learner.text.find("unreadable") == std::string::npos);
}

TEST_CASE("a variable that was never given a value is not 0 by luck, and that is said") {
  Learner learner;
  learner.writes("01_tensor", with(solution_of("01_tensor"), "float sum = bias.flat(n);", "float sum;"));
  CHECK(learner.types("check 1") == 1);
  CHECK(learner.out == Contains("linear              0 of 6 right"));
#ifdef __clang__  // which fills it with NaN
  CHECK(learner.out == Contains("not a number"));
#else
  CHECK(learner.out == Contains("That is what a variable holds that was never given a value: give it one."));
  CHECK(learner.out.find("None of the") == std::string::npos);
#endif
}

TEST_CASE("a crash or an endless loop in one function hides no mistake of a function before it") {
  Learner learner;
  const std::string code = with(solution_of("01_tensor"), "row * columns + column", "column * rows + row"),
                    loop = "  for (int64_t t = 0; t < T; ++t)\n";
  learner.writes("01_tensor", with(code, loop, "  abort();\n" + loop));
  CHECK(learner.types("check 1") == 1);
  CHECK(learner.out == Contains("memory is read column after column; here one row stands after the other."));
  CHECK(learner.out == Contains("\n  04_linear_one_token: It crashed: Aborted"));

  learner.writes("01_tensor", with(code, loop, "  for (volatile int i = 0;; i = 0) {}\n" + loop));
  CHECK(learner.types("check 1") == 1);
  CHECK(learner.out == Contains("memory is read column after column; here one row stands after the other."));
  CHECK(learner.out == Contains("\n  04_linear_one_token: It was still running after 10 s"));
  CHECK(learner.out == Contains("The 5 cases after it were not run."));
}

TEST_CASE("a function that forgets its return does not compile") {
  Learner learner;
  learner.writes("01_tensor", with(solution_of("01_tensor"), "  return row * columns + column;\n", ""));
  CHECK(learner.types("check 1") == 1);
#ifdef __clang__
  CHECK(learner.text == Contains("error: non-void function does not return a value"));
#else
  CHECK(learner.text == Contains("error: no return statement"));
#endif
  CHECK(learner.text == Contains("does not compile"));
}

TEST_CASE("adding to memory that nobody has written is named, in a tap of a half-written file too") {
  Learner learner;
  learner.writes("05_attention", with(solution_of("05_attention"), "matmul(out, weights, v);",
                                      "for (int64_t i = 0; i < T * v.dim(1); ++i)\n"
                                      "    for (int64_t s = 0; s < S; ++s)\n"
                                      "      out.flat(i) += weights(i / v.dim(1), s) * v(s, i % v.dim(1));"));
  CHECK(learner.types("check 5") == 1);
  CHECK(learner.text == Contains("If fresh memory held zeros, this case would be right."));
  CHECK(learner.text.find("None of the") == std::string::npos);

  Learner half;
  REQUIRE(half.types("start 3") == 0);
  std::string starter = read_text(half.file("03_layer_norm"));
  const size_t step = starter.find("  not_written(\"step 1"), end = starter.find('\n', step);
  REQUIRE(step != starter.npos);
  half.writes(
      "03_layer_norm",
      starter.replace(step, end - step, "  for (int64_t i = 0; i < T * C; ++i) mean(i / C) += x.flat(i) / float(C);"));
  CHECK(half.types("check 3") == 1);
  CHECK(half.text == Contains("What is written so far goes wrong.\n  mean is the first tensor that differs"));
  CHECK(half.text == Contains("If fresh memory held zeros, this case would be right."));
  CHECK(half.text == Contains("After that, the next thing to write is\n      step 2 of "));
}

TEST_CASE("what is written is judged on all cases before what is not written is asked for") {
  Learner learner;
  REQUIRE(learner.types("start 3") == 0);
  std::string starter = read_text(learner.file("03_layer_norm"));
  const size_t step = starter.find("  not_written(\"step 1"), end = starter.find('\n', step);
  REQUIRE(step != starter.npos);
  learner.writes("03_layer_norm", starter.replace(step, end - step,
                                                  "  float sum = 0;  // right for the first row\n"
                                                  "  for (int64_t t = 0; t < T; ++t) {\n"
                                                  "    for (int64_t c = 0; c < C; ++c) sum += x(t, c);\n"
                                                  "    mean(t) = sum / float(C);\n  }"));
  CHECK(learner.types("check 3") == 1);
  CHECK(learner.text == Contains("What is written so far goes wrong.\n  mean is the first tensor that differs"));
  CHECK(learner.text.find("If fresh memory") == std::string::npos);
}

TEST_CASE("an index outside a tensor or a vector names the learner's line") {
  Learner learner;
  const std::string code = solution_of("05_attention"), loop = "for (int64_t s = 0; s < S; ++s) x(t, s) /= sum;";
  const size_t line = 1 + size_t(std::count(code.begin(), code.begin() + std::ptrdiff_t(code.find(loop)), '\n'));
  const std::string place = "  In 05_attention.cpp, line " + std::to_string(line) + ".\n";
  learner.writes("05_attention", with(code, loop, "for (int64_t s = 0; s <= S; ++s) x(t, s) /= sum;"));
  CHECK(learner.types("check 5") == 1);
  CHECK(learner.text == Contains("It threw: "));
  CHECK(learner.text == Contains(place.c_str()));
  learner.writes("05_attention", with(code, loop, "for (std::vector<float> v(1); v[size_t(S)] == 0;) return;"));
  CHECK(learner.types("check 5") == 1);
  CHECK(learner.text == Contains("an index outside a vector"));
  CHECK(learner.text == Contains(place.c_str()));
  CHECK(learner.text.find('\x1c') == std::string::npos);
}

TEST_CASE("what the compiler warns of is shown, when nothing was compiled anew, too") {
  Learner learner;
  const std::string code = solution_of("01_tensor");
  const std::string warns = "  if (row & columns > 0) return 0;\n  return row * columns + column;\n";
  learner.writes("01_tensor", with(code, "  return row * columns + column;\n", warns));
  for (int time = 0; time < 2; ++time) {
    CHECK(learner.types("check 1") == 1);
    CHECK(learner.text == Contains("It compiles, with a warning that may be the reason for what follows:"));
    CHECK(learner.text == Contains("01_tensor.cpp:7:"));
    CHECK(learner.text == Contains("[-Wparentheses]"));
    CHECK(learner.text == Contains("Pass rate: "));
  }
  learner.writes("01_tensor", code);
  CHECK(learner.types("check 1") == 0);
  CHECK(learner.text.find("warning") == std::string::npos);
}

TEST_CASE("an index that runs below zero is no pass") {
  Learner learner;
  const std::string code = solution_of("14_tokenizer");
  const size_t begin = code.find("  for (size_t back = 1;"), end = code.find("  // <<<", begin);
  REQUIRE(end != code.npos);
  learner.writes("14_tokenizer", with(code, code.substr(begin, end - begin), R"(
  for (size_t i = held.size() - 1; i >= 0; i--) {
    const size_t length = character_length(uint8_t(held[i]));
    if (length == 0) continue;
    if (length > held.size() - i) whole = i;
    break;
  }
)"));
  CHECK(learner.types("check 14") == 1);
#ifdef __clang__
  CHECK(learner.text == Contains("[-Wtautological-unsigned-zero-compare]"));
#else
  CHECK(learner.text == Contains("[-Wtype-limits]"));
#endif
  CHECK(learner.text == Contains("an index outside a vector or a text"));
}

TEST_CASE("a number of pairs that wraps below zero is no pass") {
  Learner learner;
  learner.writes("14_tokenizer", with(solution_of("14_tokenizer"), "i + 1 < ids.size()", "i < ids.size() - 1"));
  CHECK(learner.types("check 14") == 1);
  CHECK(learner.text == Contains("an empty piece"));
  CHECK(learner.text == Contains("an index outside a vector or a text"));
}

TEST_CASE("what a case printed is shown line by line, of the case that is told of alone") {
  Learner learner;
  const std::string code = with(solution_of("01_tensor"), "  return row * columns + column;\n",
                                "  std::printf(\"row %d\\n  column  %d\\x1b[2J\\n\", int(row), int(column));\n"
                                "  return row + columns + column;\n");
  learner.writes("01_tensor", "#include <cstdio>\n" + code);
  CHECK(learner.types("check 1") == 1);
  CHECK(learner.text == Contains("It printed:\n  | row "));
  CHECK(learner.text == Contains("\n  |   column  "));
  CHECK(learner.text.find('\x1b') == std::string::npos);
}

TEST_CASE("a known mistake is named, and a change after a pass is noticed") {
  Learner learner;
  std::string code = solution_of("06_causal_mask");
  learner.writes("06_causal_mask", code);
  CHECK(learner.types("check 6") == 0);
  const size_t at = code.find("s = t + 1");
  REQUIRE(at != code.npos);
  learner.writes("06_causal_mask", code.replace(at, 9, "s = t + 2"));
  CHECK(learner.types("list") == 0);
  CHECK(learner.text == Contains("changed since it passed"));
  CHECK(learner.types("check 6") == 1);
  CHECK(learner.text == Contains("a token sees the one that follows it"));
  CHECK(learner.types("list --json") == 0);
  CHECK(learner.text == Contains("\"state\": \"started\""));
}

TEST_CASE("grade says whose code it grades, and a solution is no progress") {
  Learner learner;
  CHECK(learner.types("grade 6") == 0);
  CHECK(learner.text == Contains("the solution"));
  CHECK(learner.types("list") == 0);
  CHECK(learner.text == Contains("\n0 of "));
  learner.writes("06_causal_mask", solution_of("06_causal_mask"));
  CHECK(learner.types("grade 6") == 0);
  CHECK(learner.text == Contains("06_causal_mask.cpp "));
  CHECK(learner.text.find("the solution") == std::string::npos);
  CHECK(learner.types("list") == 0);
  CHECK(learner.text == Contains("\n1 of "));
}

TEST_CASE("words that name no lesson or no suite") {
  Learner learner;
  CHECK(learner.types("check causl_mask") == 2);
  CHECK(learner.text == Contains("no lesson is called causl_mask"));
  CHECK(learner.text == Contains("causal_mask"));
  CHECK(learner.types("start 99") == 2);
  CHECK(learner.types("start 0") == 2);
  CHECK(learner.types("grade --suite kv_evaluate 6") == 2);
  CHECK(learner.text == Contains("no case was executed"));
  CHECK(learner.types("grade --suite evaluat") == 2);
}

TEST_SUITE_END();
