// The grader and those who do not behave: each version of hostile_06.cpp attends well but to seven tokens.
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <regex>

#include "contains.hpp"
#include "learner/lessons.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

struct Result {
  size_t passed = 0, total = 0;
  std::string says;  // of the case with seven tokens
  Outcome::How how{};
  bool seven_passed = false;
  std::string printed;
  double seconds = 0;
};

/// Every case of lesson 06, within tight limits.
Result run(const char* version, bool enclosed = false, bool on_gpu = false) {
  static const std::vector<Case> cases = cases_of(lesson_called("06_causal_mask"), Suite::evaluate);
  RunnerLimits limits = on_gpu ? limits_on_gpu() : RunnerLimits{};
  limits.milliseconds = 1500;
  limits.memory_bytes = 512 << 20;
  limits.sent_bytes = 32 << 20;  // which a busy machine sends in the time, too
  limits.enclosed = enclosed;
  Runner runner(program("hostile_06"), version, limits);
  Result r;
  const auto begin = std::chrono::steady_clock::now();
  for (const Case& c : cases) {
    const Verdict v = judge(runner.run(c.input), c);
    ++r.total, r.passed += v.pass;
    if (c.input.name != "07_attend_seven_tokens") continue;
    r.says = v.summary, r.how = v.outcome.how, r.seven_passed = v.pass;
    r.printed = runner.printed();
  }
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return r;
}

/// Alive, and not only waiting for somebody to ask how it ended.
bool is_running(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  return name_end != text.npos && text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

int child_in(const std::string& printed) {
  std::smatch match;
  REQUIRE(std::regex_search(printed, match, std::regex("child (\\d+)")));
  return std::stoi(match[1]);
}

/// Each loses the one case, and one sentence says why.
void check_each(bool enclosed) {
  struct Expected {
    const char* version;
    Outcome::How how;
    const char* says;
  };
  const Expected all[] = {
    {"null_pointer", Outcome::died, "It crashed: Segmentation fault (signal 11): memory that is not its own"},
    {"wild_pointer", Outcome::died, "It crashed: Segmentation fault"},
    {"calls_without_end", Outcome::died, "or calls without end"},
    {"divides_by_zero", Outcome::died, "an integer divided by zero"},
    {"index_outside", Outcome::threw, "It threw: "},
    {"loops", Outcome::died, "It was still running after 1.5 s and was stopped: an endless loop?"},
    {"sleeps", Outcome::died, "It was still running after 1.5 s"},
    {"stops_itself", Outcome::died, "It was still running after 1.5 s"},
    {"kills_itself", Outcome::died, "It crashed: Killed (signal 9)"},
#if !defined(__SANITIZE_ADDRESS__)  // which makes the first too slow for the time it has, and forbids the second
    {"taps_without_end", Outcome::died, "of taps and outputs and was stopped"},
    {"takes_all_memory", Outcome::threw, "there is no more memory for it"},
#endif
    {"exits", Outcome::died, "It ended the process, with exit(0), in the middle of a case."},
    {"indexes_a_vector_outside", Outcome::died, "an index outside a vector or a text"},
    {"throws_40000_letters", Outcome::threw, "It threw: xxxx"},
    {"throws_commands_of_a_terminal", Outcome::threw, "It threw:  [2J Pass rate: 100.00%"},
    {"throws_what_is_no_utf8", Outcome::threw, "It threw: "},
    {"throws_a_number", Outcome::threw, "something that is not a std::exception (its type is int)"},
    {"throws_where_none_may_pass", Outcome::died, "It crashed: Aborted (signal 6)"},
    {"closes_everything", Outcome::died, "It closed the pipe to the grader"},
    {"leaves_slowly", Outcome::died, "It ended the process, with exit(3)"},
    {"writes_into_the_pipe", Outcome::died, "It wrote something else into the grader's pipe."},
    {"names_another_kind", Outcome::died, "It wrote something else into the grader's pipe."},
    {"says_done_and_stops", Outcome::done, "0 of 7 rows of out came back"},
    {"leaves_a_child", Outcome::died, "It ended the process, with exit(0)"},
  };
  for (const Expected& e : all) {
    const Result r = run(e.version, enclosed);
    INFO(std::string(e.version), ": ", r.says, " (", r.seconds, " s)");
    CHECK_FALSE(r.seven_passed);
    CHECK(r.how == e.how);
    CHECK(r.says == Contains(e.says));
    // Whoever said "done" and stopped is found out in the case after it.
    CHECK(r.passed == r.total - (std::string(e.version) == "says_done_and_stops" ? 2 : 1));
  }
}

}  // namespace

TEST_SUITE_BEGIN("hostile");

TEST_CASE("each loses the one case, and one sentence says why") { check_each(false); }

#if defined(__SANITIZE_ADDRESS__)
TEST_CASE("enclosed it is the same") { MESSAGE("SKIPPED: the sanitizer reads /proc, which the walls do not show"); }
#else
TEST_CASE("enclosed it is the same") { check_each(true); }
#endif

TEST_CASE("within the walls nothing of the grader's can be read, written or reached") {
  if (!has_walls()) {
    MESSAGE("SKIPPED: no bubblewrap");
    return;
  }
  const Result r = run("reaches_out", true);
  CHECK(r.printed == "");
  CHECK(r.passed == r.total);
  const Result thread = run("starts_a_thread", true);
  CHECK(thread.passed == thread.total);
}

TEST_CASE("without walls, too, the code under grade starts no process, opens no socket and sends no signal") {
  const int filter = filter_file();
  if (filter < 0) {
    MESSAGE("SKIPPED: no filter for this kind of processor");
    return;
  }
  close(filter);
  const pid_t child = fork();
  if (child == 0) {
    forbid_processes();
    const bool good = fork() < 0 && syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0 && setsid() < 0 && setpgid(0, 0) < 0 &&
                      socket(AF_INET, SOCK_STREAM, 0) < 0 && kill(getppid(), 0) < 0;
    _exit(good ? 42 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_CASE("on a GPU addresses are free, and memory is not") { MESSAGE("SKIPPED: the sanitizer allows no limit"); }
#else
TEST_CASE("on a GPU addresses are free, and memory is not") {
  CHECK(run("reserves_addresses").says == Contains("It threw: no addresses"));
  const Result r = run("reserves_addresses", false, true);
  CHECK(r.passed == r.total);
  CHECK(run("takes_all_memory", false, true).says == Contains("there is no more memory for it"));
}
#endif

TEST_CASE("on a GPU what one case broke is whole again in the next") {
  const Result processor = run("stays_broken"), gpu = run("stays_broken", false, true);
  CHECK(gpu.passed < gpu.total);
  CHECK(processor.passed < gpu.passed);
  CHECK(gpu.seven_passed);
}

TEST_CASE("where a case must throw, an exception is right, and a number is not") {
  const std::vector<Case> cases = cases_of(lesson_called("06_causal_mask"), Suite::evaluate);
  const auto of_seven = [](const Case& c) { return c.input.name == "07_attend_seven_tokens"; };
  Case c = std::find_if(cases.begin(), cases.end(), of_seven)->copy();
  c.error = "seven are too many";
  const auto judged = [&](const char* version) {
    return judge(Runner(program("hostile_06"), version).run(c.input), c);
  };
  CHECK(judged("throws_what_is_no_utf8").pass);
  const Verdict number = judged("throws_a_number");
  CHECK_FALSE(number.pass);
  CHECK(number.summary ==
        "It threw something that is not a std::exception (its type is int); it must throw an exception: "
        "seven are too many");
}

TEST_CASE("printing is cut off, and costs nothing else") {
  const Result r = run("prints_100_mb");
  CHECK(r.passed == r.total);
  CHECK(r.printed.size() == 600);
}

TEST_CASE("a child cannot take its parent's cases, nor answer them, and ends with it") {
  const Result both = run("forks");
  CHECK(both.passed == both.total);
  CHECK_FALSE(is_running(child_in(both.printed)));

  const Result left = run("leaves_a_child");
  CHECK(left.seconds < 1.4);  // noticed when the process ends, and not when the time is over
  CHECK_FALSE(is_running(child_in(left.printed)));
}

TEST_CASE("one that does not read its case does not keep the grader") {
  RunnerLimits limits;
  limits.milliseconds = 500;
  Runner runner(program("hostile_06"), "says_done_and_stops", limits);
  CaseInput in;
  in.run = "sdpa";
  for (const char* name : {"q", "k", "v"}) in.in.emplace(name, random_tensor({7, 4}, 1));
  CHECK(runner.run(in).how == Outcome::done);
  for (const char* name : {"q", "k", "v"}) in.in.insert_or_assign(name, random_tensor({500, 500}, 1));
  const Outcome o = runner.run(in);  // a megabyte, and a pipe holds 64 KiB
  CHECK(o.how == Outcome::died);
  CHECK(o.says == Contains("It was still running after 0.5 s"));
}

TEST_CASE("state that is kept from case to case is named") {
  const Grade g = grade(lesson_called("06_causal_mask"), Suite::evaluate, {program("hostile_06"), "keeps_state", "x"});
  CHECK_FALSE(g.all_passed());
  CHECK(g.diagnosis.named.empty());
  CHECK(g.story == Contains("Alone, this case passes"));
}

TEST_CASE("a case that must fail is no point for a function that throws on every case") {
  const Lesson& lesson = lesson_called("10_grouped_query");  // five of its cases must fail
  const std::vector<Case> cases = cases_of(lesson, Suite::evaluate);
  CHECK(std::any_of(cases.begin(), cases.end(), [](const Case& c) { return !c.error.empty(); }));
  const Grade g = grade(lesson, Suite::evaluate, {program("hostile_06"), "throws_always", "x"});
  CHECK(g.passed == 0);
  CHECK(std::any_of(g.verdicts.begin(), g.verdicts.end(),
                    [](const Verdict& v) { return v.summary == Contains("It threw, as it must, but"); }));
}

TEST_CASE("a crash has a story, and no known mistake") {
  const Grade g = grade(lesson_called("06_causal_mask"), Suite::evaluate, {program("hostile_06"), "null_pointer", "x"});
  CHECK(g.passed == g.cases.size() - 1);
  CHECK(g.story == Contains("It crashed: Segmentation fault"));
  CHECK(g.story.find("nown mistake") == std::string::npos);
  CHECK(g.diagnosis.named.empty());
}

TEST_CASE("taps are not needed, but outputs are judged without them") {
  const Result silent = run("silent");
  CHECK(silent.passed == silent.total);
  const Result wrong = run("silent_and_wrong");
  CHECK(wrong.passed + 7 == wrong.total);  // every case of attend
}

TEST_CASE("a program that is not there is an error of the grader's") {
  Runner runner(program("no_such_program"), "solution");
  CHECK_THROWS_WITH_AS(runner.run({}), Contains("is not built"), Error);
}

TEST_CASE("an implementation that is not in the program ends at once") {
  Runner runner(program("hostile_06"), "no_such_version");
  const Outcome o = runner.run({});
  CHECK(o.how == Outcome::died);
  CHECK(o.says == Contains("exit(2)"));
}

TEST_SUITE_END();
