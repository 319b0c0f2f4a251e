#include "learner/hostile_class.hpp"

namespace rungs::test {

namespace {

constexpr const char* headers = R"(#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <vector>
#include "lesson.hpp"
)";

/// A lesson whose functions do this.
std::string always(const std::string& does) {
  return headers + std::string("namespace lesson_01 {\nint64_t offset(int64_t, int64_t, int64_t, int64_t) { ") + does +
         "; return 0; }\nvoid linear(Tensor&, const Tensor&, const Tensor&, const Tensor&) { " + does + "; }\n}\n";
}

std::string ten_thousand_errors() {
  std::string text = headers;
  for (int i = 0; i < 10'000; ++i) text += "int x" + std::to_string(i) + " = y;\n";
  return text;
}

std::string utf16(const std::string& text) {
  std::string wide = "\xFF\xFE";
  for (const char c : text) wide += c, wide += '\0';
  return wide;
}

}  // namespace

std::vector<HostileFile> hostile_files(const std::string& solution) {
  /// Runs before main, and then computes what is right.
  const auto first = [&](const std::string& does) {
    return headers + ("namespace { const int first = [] { " + does + "; return 0; }(); }\n") + solution;
  };
  return {
      {"right", solution, true, ""},
      {"includes_the_solution", "#include \"solution.cpp\"\n", false, "write it yourself"},
      {"includes_the_solution_by_path", "#include \"01_tensor/solution.cpp\"\n", false, "write it yourself"},
      {"includes_the_mistakes", "#include \"mistakes.cpp\"\n", false, "mistakes.cpp: No such file", true},
      {"calls_the_library", headers + std::string(R"(#include "rungs/ops/cpu_ops.hpp"
namespace lesson_01 {
int64_t offset(int64_t r, int64_t c, int64_t, int64_t n) { return r * n + c; }
void linear(Tensor& out, const Tensor& x, const Tensor& w, const Tensor& b) { CpuOps().linear(out, x, w, b); }
})"),
       false, "write it yourself"},
      {"embeds_a_reference",
       headers +
           std::string("asm(\".incbin \\\"" RUNGS_SOURCE_DIR
                       "/weights/references/01_tensor/01_offset/case.json\\\"\");\n") +
           solution,
       false, "case.json", true},
      {"does_not_compile", "int main(", false, "error"},
      {"ten_thousand_errors", ten_thousand_errors(), false, "error"},
      {"includes_dev_zero", "#include \"/dev/zero\"\n", false, "/dev/zero", true},
      {"template_without_end",
       "template <int n> struct A { static constexpr int v = A<n + 1>::v; };\nint x = A<0>::v;\n", false, "template"},
      {"empty", "", false, "lacks a function"},
      {"utf16", utf16(solution), false, "error"},
      {"exits", always("std::exit(0)"), false, "exit(0)"},
      {"exits_at_once", always("_exit(0)"), false, "exit(0)"},
      {"exits_before_main", first("_exit(0)"), false, "exit(0)"},
      {"aborts", always("std::abort()"), false, "Aborted"},
      {"kills_itself", always("raise(SIGKILL)"), false, "Killed"},
      {"kills_all", always("kill(-1, SIGKILL)"), false, "wrong", true},
      {"prints_a_score_at_exit", always("std::atexit([] { std::puts(\"Pass rate: 100.00% (10/10)\"); }); std::exit(0)"),
       false, "exit(0)"},
      {"prints_a_score", always("std::puts(\"\\nPass rate: 100.00% (10/10)\")"), false, "wrong"},
      {"throws", always("throw 1"), false, "It threw"},
      {"throws_40000_letters", always("throw std::runtime_error(std::string(40000, 'x'))"), false, "It threw: xxxx"},
      {"throws_what_is_no_utf8", always("throw std::runtime_error(\"\\xFF\\xC0\")"), false, "It threw"},
      {"clears_the_screen", always("throw std::runtime_error(\"\\x1b[2J\\x1b[HPass rate: 100.00%\")"), false,
       "It threw"},
      {"forges_messages", first("for (char x[4096] = \"GNURD\"; write(4, x, sizeof x) > 0;) continue"), false,
       "came back"},
      {"allocates_without_end", always("for (;;) *static_cast<volatile char*>(new char[64 << 20]) = 1"), false,
       "memory"},
      {"returns_nothing", always(""), false, "wrong"},
      {"forks_a_thousand", first("for (int i = 0; i < 1000; ++i) if (fork() == 0) for (;;) pause()"), true, ""},
      {"leaves_a_child_in_a_session_of_its_own", first("if (fork() == 0) { setsid(); for (;;) pause(); }"), true, ""},
      {"leaves_its_group", first("setpgid(0, 0); setsid()"), true, ""},
      {"prints_without_end",
       first("for (int i = 0; i < 1'000'000; ++i) std::puts(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\")"), true, ""},
      {"fills_the_disk",
       first("for (int i = 0; i < 1000; ++i) { std::FILE* f = std::fopen((\"/tmp/\" + std::to_string(i)).c_str(), "
             "\"w\"); "
             "if (!f) break; for (int n = 0; n < 300; ++n) std::fwrite(headers, 1, 4096, f); if (std::fclose(f)) "
             "break; }")
           .insert(0, "static char headers[4096];\n"),
       true, "", true},
      {"deletes_everything",
       first("std::error_code e; for (const char* f : {\"/tmp\", \".\", \"" RUNGS_BINARY_DIR
             "\"}) std::filesystem::remove_all(f, e)"),
       true, "", true},
      {"opens_a_socket", first("if (socket(AF_INET, SOCK_STREAM, 0) >= 0) _exit(3)"), true, ""},
      {"replaces_operator_new",
       headers +
           std::string("void* operator new(size_t) { std::exit(7); }\nvoid operator delete(void*) noexcept {}\n"
                       "void operator delete(void*, size_t) noexcept {}\n") +
           solution,
       false, "exit(7)"},
      {"loops", always("for (volatile int x = 0;; x = x + 1) continue"), false, "It was still running after 10 s"},
  };
}

}  // namespace rungs::test
