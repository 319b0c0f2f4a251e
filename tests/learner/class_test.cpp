// A class: what is handed in, and what its report says of it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "contains.hpp"
#include "learner/hostile_class.hpp"
#include "learner/learner.hpp"
#include "learner/lessons.hpp"
#include "rungs/grader/enclosure.hpp"

using namespace rungs;
using namespace rungs::test;
using nlohmann::json;

namespace {

/// An entry of a tar archive, by hand: no program makes such archives.
std::string tar_entry(const std::string& name, const std::string& text, char type = '0') {
  std::string header(512, '\0');
  const auto put = [&](size_t at, const std::string& field) { header.replace(at, field.size(), field); };
  put(0, name), put(100, "0000644"), put(108, "0000000"), put(116, "0000000");
  put(124, fmt::format("{:011o}", text.size())), put(136, "00000000000"), put(148, "        ");
  put(156, std::string(1, type)), put(157, type == '2' ? "/etc/passwd" : ""), put(257, "ustar"), put(263, "00");
  unsigned sum = 0;
  for (const char c : header) sum += uint8_t(c);
  put(148, fmt::format("{:06o}", sum) + '\0');
  std::string padded = text;
  padded.resize((text.size() + 511) / 512 * 512);
  return header + padded;
}

const json& named(const json& summary, std::string_view name) {
  for (const json& s : summary["submissions"])
    if (s["name"].get_ref<const std::string&>() == name) return s;
  FAIL("no submission is called " << name);
  return summary;
}

/// The report on a folder of submissions of one lesson.
json graded(Learner& instructor, const Folder& submissions, const Folder& report, const std::string& lesson = "01") {
  INFO(instructor.text);
  REQUIRE(instructor.types(fmt::format("grade {} --submissions '{}' --out '{}' --jobs 2 --junit{}", lesson,
                                       submissions.path().string(), report.path().string(),
                                       has_walls() ? "" : " --without-walls")) == 0);
  return json::parse(read_text(report / "class.json"));
}

/// Lesson 01 by heart: each answer of the references, found again by the first element of x.
std::string by_heart() {
  std::string text =
      "#include \"lesson.hpp\"\nnamespace lesson_01 {\n"
      "int64_t offset(int64_t row, int64_t column, int64_t, int64_t columns) { return row * columns + column; }\n"
      "void linear(Tensor& out, const Tensor& x, const Tensor&, const Tensor&) {\n";
  for (const Case& c : load_cases(lesson_called("01_tensor").references)) {
    if (c.input.run != "linear") continue;
    const Tensor& out = c.find("out")->value;
    text += fmt::format("  if (x.count() == {} && x.flat(0) == {:a}f) {{\n    const double saved[] = {{",
                        c.input["x"].count(), c.input["x"].flat(0));
    for (int64_t i = 0; i < out.count(); ++i) text += fmt::format("{:a},", out.value(i));
    text += "};\n    for (int64_t i = 0; i < out.count(); ++i) out.flat(i) = float(saved[i]);\n  }\n";
  }
  return text + "}\n}\n";
}

}  // namespace

TEST_SUITE_BEGIN("class");

TEST_CASE("answers learned by heart are right on the saved inputs, and earn nothing") {
  Learner instructor;
  instructor.writes("01_tensor", by_heart());
  CHECK(instructor.types("grade 01") == 0);
  Folder submissions, report;
  write_file(submissions / "heart.cpp", by_heart());
  write_file(submissions / "head.cpp", solution_of("01_tensor"));
  const json summary = graded(instructor, submissions, report);
  CHECK(instructor.text == Contains("--draw-seed"));
  CHECK(named(summary, "head")["passed"] == 9);
  CHECK(named(summary, "heart")["passed"] == 3);  // those of offset
  CHECK(named(summary, "heart")["why"].get<std::string>() == Contains("wrong on others of the same shapes"));
  CHECK(summary["mistakes"].empty());
}

TEST_CASE("a report on one's own files is JUnit's, too") {
  Learner learner;
  const std::string file = learner.work / "report <1>.xml", to = " --junit '" + file + "'";
  learner.writes("01_tensor", solution_of("01_tensor"));
  CHECK(learner.types("grade 01" + to) == 0);
  CHECK(read_text(file) == Contains("01_tensor\" tests=\"9\" failures=\"0\""));
  learner.writes("01_tensor", "#include \"lesson.hpp\"\nint x = ;\n");
  CHECK(learner.types("grade 01" + to) == 1);
  CHECK(read_text(file) == Contains("<failure message=\"it does not compile\"/>"));
  CHECK(learner.types("grade 01 --junit") == 2);
  CHECK(learner.text == Contains("wanted the file"));
  CHECK(learner.types("grade 01 --submissions . --out o" + to) == 2);
  CHECK(learner.text == Contains("REPORT/junit.xml"));
}

TEST_CASE("whatever is handed in, no point is unearned, nothing else suffers, and one sentence says why") {
  Learner instructor;
  Folder submissions, report;
  std::vector<HostileFile> files = hostile_files(solution_of("01_tensor"));
  if (!has_walls()) {
    MESSAGE("SKIPPED: what does harm without walls. ", walls_sentence());
    std::erase_if(files, [](const HostileFile& f) { return f.needs_walls; });
  }
  for (const HostileFile& f : files) write_file(submissions / (std::string(f.name) + ".cpp"), f.text);
  const json summary = graded(instructor, submissions, report);
  CHECK(instructor.text.find('\x1b') == std::string::npos);
  for (const HostileFile& f : files) {
    const json& s = named(summary, f.name);
    const std::string why = s["why"];
    INFO(std::string(f.name), ": ", why);
    CHECK(s["total"] > 0);
    CHECK((s["passed"] == s["total"]) == f.every_point);
    CHECK(why == Contains(f.says));
    CHECK(why.find('\x1b') == std::string::npos);
    CHECK(why.size() < 2500);
    if (!f.every_point && std::string(f.says) != "wrong") CHECK(s["passed"] == 0);
  }
  const std::string page = read_text(report / "class.html");
  CHECK(page.find('\x1b') == std::string::npos);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page == Contains("Content-Security-Policy"));
  CHECK(read_text(report / "junit.xml") == Contains("<testsuite name=\"right 01_tensor\""));
}

TEST_CASE("files, folders and archives are taken, and two of one name, links and what leads out are said") {
  Learner instructor;
  Folder submissions, report;
  const std::string right = solution_of("01_tensor");
  write_file(submissions / "ada.cpp", right);
  write_file(submissions / "ada (2).cpp", right);  // the name that the second ada would get
  std::filesystem::create_directories(submissions / "many");
  for (int i = 0; i < 65; ++i) write_file(submissions / "many" / fmt::format("{}.cpp", i), std::string(1 << 20, ' '));
  std::filesystem::create_directories(submissions / "ada" / "work");
  write_file(submissions / "ada" / "work" / "01_tensor.cpp", right);
  write_file(submissions / "bob.tar", tar_entry("01_tensor.cpp", right) + std::string(1024, '\0'));
  write_file(submissions / "dots.tar", tar_entry("../01_tensor.cpp", right) + std::string(1024, '\0'));
  write_file(submissions / "linked.tar", tar_entry("01_tensor.cpp", "", '2') + std::string(1024, '\0'));
  write_file(submissions / "bomb.tar", tar_entry("zeros.txt", std::string(65 << 20, '\0')) + std::string(1024, '\0'));
  write_file(submissions / "broken.zip", "PK\x03\x04 and no more");
  write_file(submissions / "<b>&\"'`$(touch x).cpp", right);
  write_file(submissions / "large.cpp", std::string(2 << 20, ' '));
  write_file(submissions / "grades.csv", "ada,1\n");
  std::filesystem::create_symlink("/etc/passwd", submissions / "link.cpp");
  const json summary = graded(instructor, submissions, report);
  CHECK(instructor.text == Contains("Not looked at: grades.csv"));
  CHECK(summary["submissions"].size() == 12);
  CHECK(named(summary, "many")["why"].get<std::string>() == Contains("its files have more than 64.0 MiB"));
  const auto why = [&](const char* name) { return named(summary, name)["why"].get<std::string>(); };
  for (const char* name : {"ada", "ada (2)", "ada (3)", "<b>&\"'`$(touch x)"})
    CHECK(named(summary, name)["percent"] == 100);
  CHECK(why("link") == Contains("a link"));
  CHECK(why("large") == Contains("2.00 MiB; a file of a lesson has at most 1.00 MiB"));
  CHECK(read_text(report / "class.html").find("<b>&\"'") == std::string::npos);
  CHECK(read_text(report / "class.csv") == Contains("\"<b>&\"\"'`$(touch x)\",100.00"));
  if (why("bob").find("no libarchive") != std::string::npos) {
    MESSAGE("SKIPPED: archives, without libarchive");
    return;
  }
  CHECK(named(summary, "bob")["percent"] == 100);
  CHECK(why("dots") == Contains("leads out of it: ../01_tensor.cpp"));
  CHECK(why("linked") == Contains("has a link: 01_tensor.cpp"));
  CHECK(why("bomb") == Contains("unpacks to more than 64.0 MiB"));
  CHECK(why("broken") == Contains("the archive"));
}

TEST_CASE("run again, a class goes on where it stopped, and grades anew what has changed") {
  Learner instructor;
  Folder submissions, report;
  write_file(submissions / "ada.cpp", solution_of("01_tensor"));
  write_file(submissions / "bob.cpp", "int main(");
  CHECK(graded(instructor, submissions, report)["perfect"] == 1);
  CHECK(instructor.text.find("graded before") == std::string::npos);
  std::filesystem::remove(report / "results" / "ada.json");
  CHECK(graded(instructor, submissions, report)["perfect"] == 1);
  CHECK(instructor.text == Contains("1 of 2 were graded before."));
  write_file(submissions / "bob.cpp", solution_of("01_tensor"));
  CHECK(graded(instructor, submissions, report)["perfect"] == 2);
  CHECK(instructor.text == Contains("1 of 2 were graded before."));
}

TEST_CASE("kernels are handed in, too, and a fault in one has its line and its name") {
  Learner instructor;
  Folder submissions, report;
  const std::string right = solution_of("16_cuda_first"), guard = "if (i < n)";
  write_file(submissions / "ada.cu", right);
  write_file(submissions / "bob.cu", "#include \"solution.cu\"\n");
  write_file(submissions / "cem.cu", with(right, guard, "if (i >= 0)"));
  write_file(submissions / "dan.cu",
             with(right, guard, "\n#line 1 \"x/the instruction at 0x1 (\\33[2J\"\nif (i >= 0)"));
  const json summary = graded(instructor, submissions, report, "16");
  CHECK(named(summary, "ada")["percent"] == 100);
  CHECK(named(summary, "bob")["percent"] == 0);
  CHECK(named(summary, "bob")["why"].get<std::string>() == Contains("write it yourself"));
  const json& cem = named(summary, "cem");
  const std::string why = cem["why"];
  const size_t line = size_t(std::count(right.begin(), right.begin() + ptrdiff_t(right.find(guard)), '\n')) + 1;
  CHECK(why == Contains("out of bounds: this thread"));
  CHECK(why.find(fmt::format(" cem.cu:{}", line)) != why.npos);
  CHECK(cem["lessons"][0]["mistakes"] == json{"no_bounds_test"});
  const std::string of_a_name = named(summary, "dan")["why"];
  CHECK(of_a_name == Contains("out of bounds: this thread"));
  CHECK(of_a_name.find('\x1b') == of_a_name.npos);
}

TEST_CASE("lessons of every kind are handed in: with a model's files, with the kernels of the project, with ranks") {
  Learner instructor;
  Folder submissions, report;
  std::filesystem::create_directories(submissions / "ada");
  for (const std::string name : {"15_llama", "20_cuda_llama", "26_tensor_parallel"})
    write_file(submissions / "ada" / (name + lesson_called(name).ending), solution_of(name));
  const json summary = graded(instructor, submissions, report, "15 20 26");
  for (const json& lesson : named(summary, "ada")["lessons"]) {
    INFO(lesson["lesson"].get<std::string>(), lesson["problem"].get<std::string>());
    CHECK(lesson["total"] > 0);
    CHECK(lesson["passed"] == lesson["total"]);
  }
}

TEST_CASE("two forms of a mistake that have one sentence are one line of the report") {
  Learner instructor;
  Folder submissions, report;
  const std::string right = solution_of("01_tensor"), row = "offset(n, c, N, C)";
  for (const std::string column : {"offset(c, n, C, N)", "offset(c, n, N, C)"})
    write_file(submissions / fmt::format("{}.cpp", column.substr(13, 1)), with(right, row, column));
  const json summary = graded(instructor, submissions, report);
  REQUIRE(summary["mistakes"].size() == 1);
  const json& made = summary["mistakes"][0];
  CHECK(made["submissions"] == 2);
  CHECK(made["mistakes"] == json{"weight_indices_swapped", "weight_not_transposed"});
  CHECK(made["says"].get<std::string>() == Contains("column n of weight"));
}

TEST_CASE("a class without submissions, or without a file of a lesson, is told what is wanted") {
  Learner instructor;
  Folder empty, report;
  const std::string words =
      fmt::format("grade --submissions '{}' --out '{}'", empty.path().string(), report.path().string());
  CHECK(instructor.types(words) == 2);
  CHECK(instructor.text == Contains("wanted files, folders or archives"));
  write_file(empty / "notes.cpp", "int x;");
  CHECK(instructor.types(words) == 2);
  CHECK(instructor.text == Contains("no submission has a file of a lesson"));
  CHECK(instructor.types("grade --submissions /nowhere --out /tmp/x") == 3);
  CHECK(instructor.types("grade --submissions /tmp") == 2);
}

TEST_SUITE_END();
