// tools/gdb/rungs.py: tensors in a debugger.
#include "contains.hpp"
#include "learner/learner.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("learner");

TEST_CASE("gdb shows a tensor and one of its elements") {
  const Folder folder;
  const std::string out = folder / "out";
  const std::string commands =
      " -ex 'set debuginfod enabled off' -ex 'set startup-with-shell off' -ex 'source " RUNGS_SOURCE_DIR
      "/tools/gdb/rungs.py' -ex 'break lesson_06::sdpa' -ex run -ex 'p q' -ex 'p $at(q, 1, 2)' -ex 'p $at(q, 1)'"
      " -ex 'p $at(q, 2, 0)' --args ";
  const std::string command = "gdb -nx -batch" + commands + program("06_causal_mask_starter").string() + " --case '" +
                              RUNGS_SOURCE_DIR "/weights/references/06_causal_mask/02_attend_two_tokens' >'" + out +
                              "' 2>&1";
  const bool ran = std::system(command.c_str()) >= 0;
  const std::string text = ran ? read_text(out) : "";
  if (text.find("Breakpoint 1, ") == text.npos) {
    MESSAGE("SKIPPED: gdb is not here, has no Python, or may not trace a process");
    return;
  }
  CHECK(text ==
        Contains("$1 = Tensor (2, 3) f32\n     1.333      1.492      1.442\n     1.352    -0.6499     0.2988\n"));
  CHECK(text == Contains("$2 = 0.298"));
  CHECK(text == Contains("wanted 2 indices, found 1"));
  CHECK(text == Contains("index 2 is outside a dimension of 2"));
}

TEST_SUITE_END();
