#include "rungs/base/file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

TEST_CASE("a file that cannot be written to the end is an error, and leaves nothing") {
  const Folder folder;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{1000, before.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  CHECK_THROWS_WITH_AS(write_whole(folder / "a", [](std::ostream& out) { out << std::string(1 << 20, 'x'); }),
                       Contains("a: could not be written to the end: File too large"), FileError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  CHECK(folder.files().empty());
}

TEST_CASE("a pipe is written to, not replaced by a file") {
  const Folder folder;
  const auto path = folder / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  write_whole(path, [](std::ostream& out) { out << "text"; });
  char text[8] = {};
  CHECK(read(reader, text, sizeof text) == 4);
  CHECK(std::string_view(text) == "text");
  close(reader);
  CHECK(std::filesystem::is_fifo(path));
}

TEST_CASE("a pipe is no file to read, and nobody waits for one who writes") {
  const Folder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(MappedFile(folder / "pipe"), Contains("pipe: is not a file"), FileError);
}

/// What a child process says on stderr, and how it ended.
static std::pair<std::string, int> child(const std::function<void()>& work) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t id = fork();
  if (id == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGBUS}) std::signal(number, SIG_DFL);  // doctest has its own
    dup2(ends[1], STDERR_FILENO);
    work();
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[256];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(id, &status, 0);
  return {said, status};
}

TEST_CASE("a write that a signal ends leaves the old file and nothing else") {
  const Folder folder;
  write_file(folder / "a", "old");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const auto [said, status] = child([&] {
      write_whole(folder / "a", [&](std::ostream& out) {
        out << std::string(1 << 20, 'x') << std::flush;
        std::raise(number);
      });
    });
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    CHECK(read_text(folder / "a") == "old");
    CHECK(folder.files() == std::vector<std::string>{"a"});
  }
  const auto [said, status] = child([&] {
    write_whole(folder / "a", [](std::ostream& out) { out << "new"; });
    std::raise(SIGTERM);  // afterwards the signal does what it did before
  });
  CHECK(WIFSIGNALED(status));
  CHECK(read_text(folder / "a") == "new");
}

TEST_CASE("a file that is cut short while it is mapped is named") {
  const Folder folder;
  const auto path = write_file(folder / "weights", std::string(100000, 'w'));
  const auto [said, status] = child([&] {
    name_files_cut_short();
    const MappedFile other(write_file(folder / "other", "text")), file(path);
    std::filesystem::resize_file(path, 0);
    volatile std::byte touched = file.bytes()[50000];
    static_cast<void>(touched);
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(said == "rungs: " + path.string() + ": became shorter while it was read\n");
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
