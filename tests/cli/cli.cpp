#include "cli.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

namespace rungs::test {

Outcome run_rungs(const std::string& arguments, const std::string& environment) {
  const Folder folder;
  const std::string out = folder / "out", err = folder / "err";
  const std::string command = environment + " '" RUNGS_COMMAND "' " + arguments + " >" + out + " 2>" + err;
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
}

std::string golden(const std::string& name, const std::string& got) {
  const std::filesystem::path path = RUNGS_SOURCE_DIR "/tests/cli/" + name + ".txt";
  if (std::getenv("RUNGS_UPDATE")) write_file(path, got);
  return read_text(path);
}

void check_fails(const std::string& arguments, int status, const std::string& sentence) {
  CAPTURE(arguments);
  const Outcome run = run_rungs(arguments);
  CHECK(run.status == status);
  CHECK(run.out == "");
  CHECK(run.err == "rungs: " + sentence + "\n");
}

}  // namespace rungs::test
