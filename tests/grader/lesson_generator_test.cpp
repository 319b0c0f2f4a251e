// tools/lesson_generator on small lessons of its own.
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "contains.hpp"
#include "rungs/base/file.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

const std::string small_solution =
    "#include \"lesson.hpp\"\n"
    "\n"
    "namespace lesson_06 {\n"
    "\n"
    "int one(int x) {\n"
    "  int y = 0;\n"
    "  // >>> y = x, \"quoted\"\n"
    "  y = secret + x;\n"
    "  // <<<\n"
    "  return y;\n"
    "}\n"
    "\n"
    "int two(int x) {\n"
    "  // >>> count down\n"
    "  while (x > 0) --x;\n"
    "  // <<<\n"
    "  return x;\n"
    "}\n"
    "\n"
    "}  // namespace lesson_06\n";

const std::string head = "pieces = [\"one\", \"two\"]\n";

std::string mistake(const std::string& change, const char* shows = "output") {
  return fmt::format("[[mistake]]\nname = \"m\"\nsays = \"it is \\\"wrong\\\".\"\nread = \"Why\"\nshows = \"{}\"\n{}\n",
                     shows, change);
}

/// Made when a test asks for it: before main nothing may call what another file initializes.
std::string good() { return mistake("find = \"--x\"\nreplace = \"x -= 2\""); }

/// A lesson in a folder of its own, taken apart.
struct SmallLesson {
  Folder folder;
  int status = 0;
  std::string says;

  SmallLesson(const std::string& code, const std::string& mistakes, std::initializer_list<const char*> cases = {},
              const char* file = "solution.cpp") {
    const auto source = folder / "06_small", references = folder / "references", out = folder / "out";
    std::filesystem::create_directories(source);
    write_file(source / file, code);
    write_file(source / "mistakes.toml", mistakes);
    for (const char* name : cases) {
      std::filesystem::create_directories(references / name);
      write_file(references / name / "case.json", "{}");
    }
    FILE* pipe = popen(
        fmt::format("'{}' '{}' '{}' '{}' 2>&1", LESSON_GENERATOR, source.string(), references.string(), out.string())
            .c_str(),
        "r");
    REQUIRE(pipe);
    std::array<char, 512> part;
    while (fgets(part.data(), part.size(), pipe)) says += part.data();
    status = WEXITSTATUS(pclose(pipe));
  }
  std::string made(const char* file) const { return read_text(folder / "out" / file); }
};

/// One that fails with this sentence.
void fails(const std::string& code, const std::string& mistakes, const char* sentence) {
  const SmallLesson l(code, mistakes);
  CHECK(l.status == 1);
  CHECK(l.says == Contains(sentence));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  REQUIRE(at != text.npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_SUITE_BEGIN("lesson_generator");

TEST_CASE("the starter has the steps, and nothing of what was removed") {
  const SmallLesson l(small_solution, head + good());
  INFO(l.says);
  REQUIRE(l.status == 0);
  CHECK(l.made("starter.cpp") ==
        "#include \"lesson.hpp\"\n"
        "#include \"rungs/tensor/print.hpp\"  // print(\"x\", x) shows a tensor\n"
        "\n"
        "namespace lesson_06 {\n"
        "\n"
        "int one(int x) {\n"
        "  int y = 0;\n"
        "  // step 1 of 2: y = x, \"quoted\"\n"
        "  not_written(\"step 1 of 2: y = x, \\\"quoted\\\"\");\n"
        "  return y;\n"
        "}\n"
        "\n"
        "int two(int x) {\n"
        "  // step 2 of 2: count down\n"
        "  not_written(\"step 2 of 2: count down\");\n"
        "  return x;\n"
        "}\n"
        "\n"
        "}  // namespace lesson_06\n");
}

TEST_CASE("a mistake is the solution with its change, in a namespace of its own") {
  const SmallLesson l(small_solution,
                      head + good() + replaced(mistake("region = 1\nbody = '''\n  y = 7;\n'''"), "\"m\"", "\"n\""));
  INFO(l.says);
  REQUIRE(l.status == 0);
  const std::string code = l.made("mistakes.cpp");
  CHECK(code == Contains("namespace lesson_06::m {"));
  CHECK(code == Contains("while (x > 0) x -= 2;"));
  CHECK(code == Contains("  // >>> y = x, \"quoted\"\n  y = 7;\n  // <<<\n"));
  CHECK(code == Contains("lesson_06::n::two"));
  CHECK(l.made("mistakes.json") == Contains("\"says\": \"it is \\\"wrong\\\".\""));
}

TEST_CASE("every case is a test, and prompts are one together") {
  const SmallLesson l(small_solution, head + good(), {"01_a", "02_prompt_b", "03_prompt_c"});
  REQUIRE(l.status == 0);
  const std::string code = l.made("suites.cpp");
  CHECK(code == Contains("check_case(\"06_small\", \"01_a\")"));
  CHECK(code.find("02_prompt_b") == code.npos);
  CHECK(code == Contains("check_kv_evaluate(\"06_small\")"));
}

TEST_CASE("a solution in CUDA has a starter and mistakes in CUDA and runs through run_kernels") {
  const SmallLesson l(small_solution, head + mistake("find = \"--x\"\nreplace = \"x -= 2\"", "checker"), {},
                      "solution.cu");
  INFO(l.says);
  REQUIRE(l.status == 0);
  CHECK(l.made("starter.cu") == Contains("not_written(\"step 2 of 2: count down\");"));
  CHECK(l.made("mistakes.cu") == Contains("rungs::run_kernels(given, to, [](const rungs::CaseInput& in"));
  CHECK(l.made("mine_glue.cpp") == Contains("rungs::run_kernels("));
  CHECK(l.made("pieces.hpp") == Contains("#include \"kernel_case.hpp\""));
  CHECK(l.made("mistakes.json") == Contains("\"shows\": \"checker\""));
  CHECK_FALSE(std::filesystem::exists(l.folder / "out" / "starter.cpp"));
}

TEST_CASE("nothing is written again that does not change") {
  const SmallLesson l(small_solution, head + good());
  const auto starter = l.folder / "out" / "starter.cpp";
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(starter, old);
  const std::string again = fmt::format("'{}' '{}' '{}' '{}'", LESSON_GENERATOR, (l.folder / "06_small").string(),
                                        (l.folder / "references").string(), (l.folder / "out").string());
  REQUIRE(std::system(again.c_str()) == 0);
  CHECK(std::filesystem::last_write_time(starter) == old);
}

TEST_CASE("regions") {
  fails(replaced(small_solution, "  // <<<\n", ""), head + good(), "solution.cpp:13: a region begins inside a region");
  fails(replaced(small_solution, "  // >>> y = x, \"quoted\"\n", ""), head + good(),
        "solution.cpp:8: a region ends that never");
  fails(replaced(small_solution, "  // <<<\n  return x", "  return x"), head + good(), "a region does not end");
  fails("namespace lesson_06 {\n}  // namespace lesson_06\n", head + good(), "or there is none");
  fails("", head + good(), "or there is none");
  fails(replaced(small_solution, "// >>> count down", "// >>>"), head + good(),
        "solution.cpp:14: a region has no sentence");
  fails(replaced(small_solution, "namespace lesson_06 {", "namespace lesson_07 {"), head + good(),
        "wanted includes, then one");
}

TEST_CASE("changes") {
  fails(small_solution, head + mistake("find = \"+++\"\nreplace = \"\""), "m: `find` matches nothing: +++");
  fails(small_solution, head + mistake("find = \"x\"\nreplace = \"\""), "m: `find` matches more than once: x");
  fails(small_solution, head + mistake("find = \"return y;\"\nreplace = \"\""), "m: `find` stands outside the regions");
  fails(small_solution, head + mistake("find = \"\"\nreplace = \"y\""), "m: `find` is empty");
  fails(small_solution, head + mistake("find = [\"--x\", \"y = secret\"]\nreplace = \"\""),
        "m: as many `replace` as `find`");
  fails(small_solution, head + mistake("find = \"--x\""), "m: wanted `replace`");
  fails(small_solution, head + mistake("region = 3\nbody = \"\""), "m: there is no region 3");
  fails(small_solution, head + mistake("region = 0\nbody = \"\""), "m: there is no region 0");
  fails(small_solution, head + mistake("region = 1"), "m: wanted `body`");
  fails(small_solution, head + mistake("find = \"--x\"\nreplace = \"--x\""), "m: changes nothing");
}

TEST_CASE("fields") {
  fails(small_solution, head, "wanted at least one [[mistake]]");
  fails(small_solution, head + "mistake = [1]\n", "wanted each mistake as [[mistake]]");
  fails(small_solution, good(), "wanted `pieces`");
  fails(small_solution, head + mistake("find = \"--x\"\nreplace = \"\"", "sometimes"),
        "m: shows: wanted output, error, work, unstable or checker, found sometimes");
  fails(small_solution, head + good() + good(), "m: stands twice");
  fails(small_solution, head + replaced(good(), "name = \"m\"", "name = \"not a name\""),
        "not a name: wanted a C++ name");
  fails(small_solution, head + replaced(good(), "says = ", "said = "), "m: wanted `says`");
  fails(small_solution, head + "[[mistake]\n", "mistakes.toml:2: ");
}

TEST_CASE("files that are not there") {
  const SmallLesson l(small_solution, head + good());
  CHECK(WEXITSTATUS(std::system(fmt::format("'{}' /no/such/lesson a b 2>/dev/null", LESSON_GENERATOR).c_str())) == 1);
  CHECK(WEXITSTATUS(std::system(fmt::format("'{}' 2>/dev/null", LESSON_GENERATOR).c_str())) == 2);
}

TEST_SUITE_END();
