// What surrounds a learner's program on a GPU, tried with programs that stand in for it and for compute-sanitizer.
#include <chrono>
#include <cstdlib>

#include "cli.hpp"
#include "contains.hpp"
#include "sanitizer.hpp"
#include "within_time.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

/// A program of a shell's commands.
std::string program_that(const std::filesystem::path& path, const std::string& does) {
  write_file(path, "#!/bin/sh\n" + does + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

/// A lesson in a folder, whose runner was built.
struct OnGpu {
  Folder folder;
  Lesson lesson;
  OnGpu() {
    lesson.mine = folder / "17_cuda_matmul.cu";
    lesson.references = folder / "references";
    lesson.mine_runner = program_that(folder / "runner", "echo \"$@\" >>\"$0.ran\"; [ \"$1\" = --case ]");
  }
  /// compute-sanitizer runs the program and writes this into its log.
  void has_sanitizer(const std::string& log) {
    program_that(folder / "compute-sanitizer",
                 "while [ \"$1\" != --log-file ]; do echo \"$1\" >>\"" + (folder / "options").string() +
                     "\"; shift; done\nlog=$2; shift 2\n\"$@\" || exit 9\ncat >\"$log\" <<'END'\n" + log + "END");
  }
  Sanitized sanitized() { return sanitize(lesson, {"07_odd", "09_large"}, folder.path()); }
  std::string ran() { return read_text(folder / "runner.ran"); }
};

const std::string begin = "========= COMPUTE-SANITIZER\n", clean = begin + "========= ERROR SUMMARY: 0 errors\n";

std::string report(const std::string& at) {
  return begin + "========= Invalid __shared__ read of size 4 bytes\n=========     at " + at +
         "\n=========     by thread (3,1,0) in block (0,2,0)\n"
         "=========     Address 0x1400 is out of bounds\n"
         "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
         "=========         Host Frame: matmul_tiled in 17_cuda_matmul.cu:99 [0xab50] in runner\n"
         "========= \n"
         "========= Invalid __shared__ read of size 4 bytes\n=========     at another()+0x10 in 17_cuda_matmul.cu:7\n"
         "=========     by thread (4,1,0) in block (0,2,0)\n========= \n"
         "========= Target application returned an error\n========= ERROR SUMMARY: 12 errors\n";
}

}  // namespace

TEST_SUITE_BEGIN("cli");

TEST_CASE("a program on a GPU is ended when its time is over, and one sentence says so") {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(run_within_time("sleep 20", 1) == too_late);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  CHECK(run_within_time("sh -c 'exit 3'", 20) == 3);
  CHECK(std::system("true") == 0);
}

TEST_CASE("what compute-sanitizer reports first is said in one line, with the thread and the learner's line") {
  for (const char* at : {"tiled_kernel(float *, int)+0x160 in /home/ada/work/17_cuda_matmul.cu:41",
                         "0x160 in /home/ada/work/17_cuda_matmul.cu:41:tiled_kernel(float*, int)"}) {
    OnGpu gpu;
    gpu.has_sanitizer(report(at));
    const Sanitized s = gpu.sanitized();
    CHECK(s.how == Sanitized::found);
    CHECK(s.says ==
          "Invalid __shared__ read of size 4 bytes, by thread (3,1,0) in block (0,2,0), in 17_cuda_matmul.cu, line 41; "
          "12 reports in all");
    CHECK(gpu.ran() == "--case " + (gpu.lesson.references / "07_odd").string() + "\n");  // and no other case
  }
  // Of a function in a header, the line that called it.
  const std::string called = "=========     Device Frame: tiled_kernel(float *)+0x20 in 17_cuda_matmul.cu:52\n";
  std::string log = report("sum_of(float)+0x8 in warp.cuh:12");
  log.insert(log.find("=========     Saved host"), called);
  CHECK(read_sanitizer_log(log, "work/17_cuda_matmul.cu").says == Contains("in 17_cuda_matmul.cu, line 52"));
  CHECK(read_sanitizer_log(report("tiled_kernel(float *)+0x160"), "work/17_cuda_matmul.cu").says ==
        Contains(", at tiled_kernel(float *)+0x160; 12 reports"));
}

TEST_CASE("without a report every case was watched") {
  OnGpu gpu;
  gpu.has_sanitizer(clean);
  CHECK(gpu.sanitized().how == Sanitized::clean);
  CHECK(gpu.ran() == Contains("/09_large"));
  CHECK(read_text(gpu.folder / "options").starts_with("--tool\nmemcheck\n"));
}

TEST_CASE("where compute-sanitizer is missing or cannot watch, one sentence says why") {
  OnGpu gpu;
  if (std::system("command -v compute-sanitizer >/dev/null") != 0) {
    const Sanitized s = gpu.sanitized();
    CHECK(s.how == Sanitized::not_watched);
    CHECK(s.says == "it is not installed");
  }
  gpu.has_sanitizer(begin + "========= Error: Target application terminated before first instrumented API call\n");
  CHECK(gpu.sanitized().how == Sanitized::not_watched);
  CHECK(gpu.sanitized().says == "Target application terminated before first instrumented API call");
  gpu.has_sanitizer("");
  CHECK(gpu.sanitized().says == "it printed no summary");
}

TEST_SUITE_END();
