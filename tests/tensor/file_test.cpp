#include "tensor/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("tensor");

TEST_CASE("a written file is read back whole") {
  const Folder folder;
  write_whole(folder / "a", [](std::ostream& out) { out << "one" << '\0' << "two"; });
  CHECK(read_text(folder / "a") == std::string("one\0two", 7));
  write_whole(folder / "a", [](std::ostream&) {});
  CHECK(read_text(folder / "a") == "");
}

TEST_CASE("a write that fails leaves the old file and nothing else") {
  const Folder folder;
  write_file(folder / "a", "old");
  const auto half = [](std::ostream& out) {
    out << "half of the new";
    throw FileError("stop");
  };
  CHECK_THROWS_WITH_AS(write_whole(folder / "a", half), "stop", FileError);
  CHECK(read_text(folder / "a") == "old");
  CHECK_THROWS_AS(write_whole(folder / "b", half), FileError);
  CHECK(folder.files() == std::vector<std::string>{"a"});
}

TEST_CASE("a place that cannot be written is refused by name") {
  const Folder folder;
  const auto write = [](std::ostream& out) { out << "text"; };
  CHECK_THROWS_WITH_AS(write_whole(folder / "none/a", write), Contains("none/a: cannot be written: No such file"),
                       FileError);
  std::filesystem::create_directory(folder / "dir");
  CHECK_THROWS_WITH_AS(write_whole(folder / "dir", write), Contains("dir: cannot be written: Is a directory"),
                       FileError);
  CHECK(folder.files() == std::vector<std::string>{"dir"});
}

TEST_CASE("a full disk is an error, and a device is written to, not replaced") {
  struct stat before {
  }, after{};
  REQUIRE(stat("/dev/full", &before) == 0);
  CHECK_THROWS_WITH_AS(write_whole("/dev/full", [](std::ostream& out) { out << std::string(1 << 20, 'x'); }),
                       Contains("/dev/full: could not be written to the end: No space left"), FileError);
  write_whole("/dev/null", [](std::ostream& out) { out << "x"; });
  REQUIRE(stat("/dev/null", &after) == 0);
  CHECK(S_ISCHR(after.st_mode));
}

TEST_CASE("a mapping moves and survives the removal of its file") {
  const Folder folder;
  MappedFile a(write_file(folder / "a", "text"));
  std::filesystem::remove(folder / "a");
  MappedFile b = std::move(a);
  REQUIRE(b.bytes().size() == 4);
  CHECK(char(b.bytes()[3]) == 't');
  CHECK(a.bytes().empty());
  b = MappedFile();
  CHECK(b.bytes().empty());
}

TEST_SUITE_END();
