// Cases that learners have not seen: made by the scripts of the references, and graded on.
#include "contains.hpp"
#include "learner/learner.hpp"
#include "rungs/grader/case.hpp"

using namespace rungs;
using namespace rungs::test;
namespace fs = std::filesystem;

namespace {

/// A PATH whose first python3 fails, while this object lives.
struct NoTorch {
  Folder folder;
  std::string before = std::getenv("PATH");
  NoTorch() {
    write_file(folder / "python3", "#!/bin/sh\nexit 1\n");
    fs::permissions(folder / "python3", fs::perms::owner_all);
    setenv("PATH", (folder.path().string() + ":" + before).c_str(), 1);
  }
  ~NoTorch() { setenv("PATH", before.c_str(), 1); }
};

}  // namespace

TEST_SUITE_BEGIN("hidden cases");

TEST_CASE("hidden cases have other shapes, the solution passes them, and a wrong version does not") {
  if (std::system("python3 -c 'import numpy, torch' >/dev/null 2>&1") != 0) {
    MESSAGE("SKIPPED: python3 has no PyTorch");
    return;
  }
  Learner instructor;
  Folder folder;
  const std::string hidden = folder / "hid'den";  // a name that a shell would read otherwise
  REQUIRE(instructor.types("cases new --seed 5 --lessons 01,02 --out \"" + hidden + "\"") == 0);
  CHECK(instructor.text == Contains("40 cases of 2 lessons"));
  for (const char* lesson : {"01_tensor", "02_embedding"}) {
    const auto ours = load_cases(lesson_called(lesson).references),
               theirs = load_cases(hidden + "/references/" + lesson);
    REQUIRE(ours.size() == theirs.size());
    size_t other_shapes = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
      CHECK(ours[i].input.name == theirs[i].input.name);
      for (const auto& [name, tensor] : ours[i].input.in)
        other_shapes += tensor.shape() != theirs[i].input.in.at(name).shape();
    }
    CHECK(other_shapes >= ours.size() / 2);
  }
  const std::string on_hidden = " --cases \"" + hidden + "\"";
  instructor.writes("01_tensor", solution_of("01_tensor"));
  CHECK(instructor.types("grade 01" + on_hidden) == 0);
  CHECK(instructor.text == Contains("(9/9)"));
  std::string wrong = solution_of("01_tensor");
  const std::string right = "row * columns + column";
  wrong.replace(wrong.find(right), right.size(), "column * rows + row");
  instructor.writes("01_tensor", wrong);
  CHECK(instructor.types("grade 01" + on_hidden) == 1);
  CHECK(instructor.text == Contains("memory is read column after column"));
  CHECK(instructor.types("grade 03" + on_hidden) == 2);
  CHECK(instructor.text == Contains("has no cases of 03_layer_norm, only of 01_tensor and 02_embedding"));
}

TEST_CASE("where hidden cases cannot be made, a sentence says why") {
  Learner instructor;
  Folder folder;
  const std::string to = " --out '" + std::string(folder / "new") + "'";
  CHECK(instructor.types("cases new --seed 2024" + to) == 2);
  CHECK(instructor.text == Contains("the cases that everybody has"));
  CHECK(instructor.types("cases new --seed 5 --lessons 14" + to) == 2);
  CHECK(instructor.text == Contains("of lessons 01 to 13 alone, and 14_tokenizer is none of these"));
  CHECK(instructor.types("cases new --seed 5 --out '" + folder.path().parent_path().string() + "'") == 2);
  CHECK(instructor.text == Contains("is there and not empty"));
  const NoTorch none;
  CHECK(instructor.types("cases new --seed 5" + to) == 2);
  CHECK(instructor.text == Contains("apt-get install python3-torch"));
  CHECK(instructor.types("grade 01 --cases '" + folder.path().string() + "'") == 2);
  CHECK(instructor.text == Contains("wanted a folder that"));
  CHECK_FALSE(fs::exists(folder / "new"));
}

TEST_SUITE_END();
