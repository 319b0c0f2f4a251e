/// Runs the rungs program as a user would.
#pragma once

#include "generate/tiny_model.hpp"

namespace rungs::test {

struct Outcome {
  int status;  ///< exit status; -1: a signal ended it
  std::string out, err;
};

/// Runs `rungs ARGUMENTS` through the shell; `environment` stands before it: "NO_COLOR=1".
Outcome run_rungs(const std::string& arguments, const std::string& environment = "");

/// What tests/cli/NAME.txt says. With RUNGS_UPDATE in the environment the file becomes `got` first.
std::string golden(const std::string& name, const std::string& got);

/// The program must end with this status, print nothing on stdout, and say this on stderr, in one line.
void check_fails(const std::string& arguments, int status, const std::string& sentence);

}  // namespace rungs::test
