// rungs generate --mine: generation on the learner's own code.
#include <fmt/format.h>

#include <algorithm>

#include "become.hpp"
#include "commands.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/terminal.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

/// What is known of the learner's file of a lesson, and the file that goes into rungs_mine: the learner's where it
/// passes; else the solution, which the learner's other files may call, or the starter where there are no solutions.
struct Judged {
  std::string state;
  fs::path code;
};

static Judged judge(const Lesson& lesson, Progress& progress) {
  const fs::path other = fs::exists(lesson.solution) ? lesson.solution : lesson.starter;
  progress.advance();
  const std::string number = lesson.short_name();
  if (standing_of(lesson) == Standing::not_started) return {"not started: ./rungs start " + number, other};
  if (!passes(lesson)) return {"does not pass: ./rungs check " + number, other};
  return {"", lesson.mine};
}

static std::string program_for(const DeviceChoice& device) {
  if (device.backend == "cuda-naive")
    throw UsageError("--mine runs your kernels: --backend cuda, or cpu; cuda-naive is the first rung of each of ours");
  if (device.backend == "cpu") return "rungs_mine";
  return device.on == "gpu" ? "rungs_mine_gpu" : "rungs_mine_emulator";
}

int generate_on_mine(const GenerateCommand& command) {
  const std::string program = program_for(command.device);
  require_program(program);
  const fs::path folder = fs::path(RUNGS_BINARY_DIR) / "mine";
  std::vector<Lesson> lessons = all_lessons();
  const int last = command.device.backend == "cpu" ? 15 : 21;
  if (std::none_of(lessons.begin(), lessons.end(), [&](const Lesson& l) { return l.number() == last; }))
    throw UsageError(
        fmt::format("--mine runs a model on your own code when there is lesson {}, which this handout leaves "
                    "out",
                    last));
  const bool cuda = command.device.backend != "cpu";
  if (!cuda) std::erase_if(lessons, [](const Lesson& l) { return l.has_kernels(); });
  std::string rows;
  {
    Progress progress("judging your lessons", int64_t(lessons.size()));
    for (const Lesson& lesson : lessons) {
      const Judged judged = judge(lesson, progress);
      write_include(lesson.name + "_piece.cpp", judged.code);
      rows += fmt::format("      {{\"{}\", \"{}\"}},\n", lesson.name, judged.state);
    }
  }
  write_where_different(folder / (cuda ? "my_kernels.cpp" : "my_lessons.cpp"),
                        fmt::format("// Made by rungs generate --mine.\n#include \"my_lessons.hpp\"\n\n"
                                    "const std::vector<rungs::MyLesson>& rungs::my_lessons() {{\n"
                                    "  static const std::vector<MyLesson> list = {{\n{}  }};\n  return list;\n}}\n",
                                    rows));
  const Build b = build({program});
  if (!b.ok) throw Error("your files pass one by one, but do not build together:\n" + b.output);
  become(program, command.device.argv);
}

}  // namespace rungs
