#include "submission_build.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <sstream>

#include "compiler_output.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/shell.hpp"
#include "rungs/base/text.hpp"
#include "rungs/grader/enclosure.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

constexpr int most_seconds = 60;  // a file of a lesson compiles in 1 to 8
constexpr uint64_t most_memory = uint64_t(2) << 30;
constexpr uint64_t most_file = 64 << 20;  // a runner has 2 to 20 MB
constexpr size_t most_output = 256 << 10;

/// What a command that we trust prints, a line each.
std::vector<std::string> lines_of(const std::string& command) {
  const Ran ran = run_command(command);
  if (ran.status != 0) throw Error("the build does not say how it builds: " + command);
  std::istringstream all(ran.output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> ninja(const std::string& words) {
  return lines_of("ninja -C '" RUNGS_BINARY_DIR "' " + words + " 2>/dev/null");
}

/// The word after "-o" and its like.
std::string word_after(const std::vector<std::string>& words, const std::string& option) {
  const auto at = std::find(words.begin(), words.end(), option);
  if (at == words.end() || at + 1 == words.end()) throw Error("a command of the build has no " + option);
  return at[1];
}

std::string in_one(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) command += shell_word(word) + " ";
  return command;
}

/// Precompiled ones are .gch of g++ and .pch of clang.
bool is_header(const fs::path& path) {
  const std::string endings[] = {".hpp", ".cuh", ".h", ".hxx", ".gch", ".pch"};
  return std::find(std::begin(endings), std::end(endings), path.extension().string()) != std::end(endings);
}

/// The project's headers that an object of the build was made from. Never a solution, a mistake or a reference.
std::vector<fs::path> headers_of(const std::string& object) {
  std::vector<fs::path> headers;
  for (std::string line : ninja("-t deps " + shell_word(object))) {
    line.erase(0, line.find_first_not_of(' '));
    const fs::path path = line.starts_with("/") ? fs::path(line) : fs::path(RUNGS_BINARY_DIR) / line;
    if (is_header(path) && line.find(RUNGS_SOURCE_DIR) != line.npos && fs::exists(path)) headers.push_back(path);
  }
  return headers;
}

/// What a compiler may read: the library, every lesson.hpp, and what the starter and its precompiled header include.
std::vector<fs::path> readable_headers(const std::string& starter_object, const std::vector<std::string>& compile) {
  std::vector<fs::path> all = {RUNGS_SOURCE_DIR "/lib"};
  for (const Lesson& l : all_lessons()) all.push_back(l.source / "lesson.hpp");
  const auto add_headers_of = [&](const std::string& object) {
    for (const fs::path& header : headers_of(object)) all.push_back(header);
  };
  add_headers_of(starter_object);
  for (const std::string& word : compile)
    if (word.ends_with("/cmake_pch.hxx"))
      for (const char* ending : {"", ".gch", ".pch"})
        if (const std::string file = word + ending; fs::exists(file)) {
          all.push_back(file);
          if (*ending) add_headers_of(fs::path(file).lexically_relative(RUNGS_BINARY_DIR).string());
        }
  return all;
}

/// In each word that begins with it: "x.o" and "x.o.d".
void replace_first_part(std::vector<std::string>& words, const std::string& what, const std::string& with) {
  for (std::string& word : words)
    if (word.starts_with(what)) word.replace(0, what.size(), with);
}

/// The files that a list of the compiler's for make has: a space within a name has a backslash before it, and so has
/// the end of a line.
std::vector<std::string> files_for_make(const std::string& list) {
  std::vector<std::string> files(1);
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '\\' && i + 1 < list.size() && list[i + 1] == ' ')
      files.back() += list[++i];
    else if (list[i] == ' ' || list[i] == '\n' || list[i] == '\\')
      files.emplace_back();
    else
      files.back() += list[i];
  }
  return files;
}

/// One command for a shell, enclosed: how it ended, and what it said, up to a limit.
struct Ended {
  int status = -1;  ///< of waitpid
  bool too_late = false;
  std::string output;
};

[[noreturn]] void become_shell(const std::vector<std::string>& words, const Enclosure& limits, int output) {
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", language[] = "LC_ALL=C.UTF-8", folder[] = "TMPDIR=/tmp";
  char* environment[] = {path, language, folder, nullptr};
  dup2(output, 1), dup2(output, 2), close(0), open("/dev/null", O_RDONLY);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit_process(limits);
  if (chdir(RUNGS_BINARY_DIR) == 0) execve(arguments[0], arguments.data(), environment);
  _exit(127);
}

Ended run_enclosed(const std::string& command, const Enclosure& enclosure) {
  std::vector<std::string> words = {"/bin/sh", "-c", command};
  if (has_walls()) words = within_walls(enclosure, words, -1);
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) throw Error("no pipe from a compiler");
  const pid_t pid = fork();
  if (pid == 0) become_shell(words, enclosure, pipe[1]);
  close(pipe[1]);
  Ended end;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(most_seconds);
  std::array<char, 4096> part{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd ready{pipe[0], POLLIN, 0};
    end.too_late = left <= 0 || poll(&ready, 1, int(left)) == 0;
    const ssize_t n = end.too_late ? 0 : read(pipe[0], part.data(), part.size());
    if (n <= 0) break;
    if (end.output.size() < most_output) end.output.append(part.data(), size_t(n));
  }
  close(pipe[0]);
  if (pid > 0) {
    if (end.too_late) kill(-pid, SIGKILL);
    waitpid(pid, &end.status, 0);
    kill(-pid, SIGKILL);  // what it may have left
  }
  return end;
}

std::string compile_problem(const Ended& end, const fs::path& source, const std::string& called) {
  if (end.too_late) return fmt::format("Compiling {} took more than {} s and was stopped.", called, most_seconds);
  if (end.output.find("out of memory") != end.output.npos || end.output.find("bad_alloc") != end.output.npos ||
      end.output.find("memory exhausted") != end.output.npos)
    return fmt::format("Compiling {} took more than {} GB of memory and was stopped.", called, most_memory >> 30);
  const std::string error = first_error(end.output, source, called);
  if (error.find("/solution.c") != error.npos || error.find(" solution.c") != error.npos)
    return fmt::format("{} includes a solution; this lesson asks you to write it yourself.", called);
  return error.empty() ? fmt::format("The compiler ended on {} without a sentence.", called) : error;
}

/// What lessons teach, as a linker calls it: only a lesson whose solution needs one of these may use it.
constexpr const char* taught_operations[] = {
    " rungs::CpuOps::",           " vtable for rungs::CpuOps",  " rungs::matmul(",
    " rungs::matmul_transposed(", " rungs::packed_product(",    " rungs::sample(",
    " rungs::generate(",          " rungs::probabilities(",     " rungs::rope_frequencies(",
    " rungs::quantize_rows(",     " rungs::quantized_product(", " rungs::load_tokenizer(",
    " rungs::load_model(",        " rungs::dots_with_keys(",    " rungs::small_batch_product("};

/// What must not be used, of what the compiler read and of what the file needs from elsewhere.
std::string what_it_borrows(const Recipe& recipe, const fs::path& object, const std::string& called) {
  for (const std::string& file : files_for_make(read_text(object.string() + ".d"))) {
    const fs::path path = file;
    const bool is_project = file.starts_with(RUNGS_SOURCE_DIR "/") && !file.starts_with(object.parent_path().string());
    if (is_project && !is_header(path))
      return fmt::format("{} includes {}; this lesson asks you to write it yourself.", called,
                         printable(short_path(path)));
  }
  Enclosure e{.readable = {object}, .compiler = true, .memory_bytes = most_memory, .processor_seconds = 10};
  const std::string needs = run_enclosed("nm -uC " + shell_word(object.string()), e).output;
  for (const std::string operation : taught_operations)
    if (needs.find(operation) != needs.npos && recipe.solution_needs.find(operation) == recipe.solution_needs.npos)
      return fmt::format(
          "{} calls the library's {}; this lesson asks you to write it yourself.", called,
          operation.substr(operation.find("rungs::") + 7, operation.find('(') - operation.find("rungs::") - 7));
  return "";
}

}  // namespace

Recipe recipe_of(const Lesson& lesson) {
  must_build({lesson.name + "_starter", lesson.name + "_mistakes", lesson.name + "_solution"});
  Recipe r;
  const std::string library = fmt::format("lessons/lib{}_lib{}.a", lesson.name, lesson.has_kernels() ? "_checked" : "");
  for (const std::string& line : lines_of("cd '" RUNGS_BINARY_DIR "' && nm -uC " + library))
    r.solution_needs += line + "\n";
  const std::string mine = RUNGS_BINARY_DIR "/mine/" + lesson.name + ".cpp";
  for (const std::string& line : ninja("-t commands bin/" + lesson.name + "_mine")) {
    std::vector<std::string> words = shell_words(line);
    std::erase_if(words, [](const std::string& word) { return word == ":" || word == "&&"; });  // of a link
    if (std::find(words.begin(), words.end(), mine) != words.end()) r.compile = words;
    r.link = words;
  }
  if (r.compile.empty()) throw Error("the build does not say how it compiles " + lesson.name + "_mine");
  r.source = word_after(r.compile, "-c"), r.object = word_after(r.compile, "-o");
  r.program = word_after(r.link, "-o");
  // A launcher, ccache, has its own folders, and its words come before the compiler.
  if (const auto at = std::find(r.compile.begin(), r.compile.end(), RUNGS_CXX); at != r.compile.end())
    r.compile.erase(r.compile.begin(), at);
  r.compile.insert(r.compile.begin() + 1, {"-x", "c++", "-fmax-errors=20"});  // a .cu file is C++ here

  const std::string starter =
      fmt::format("lessons/CMakeFiles/{0}_starter.dir/{0}/starter{1}.o", lesson.name, lesson.ending);
  r.readable = readable_headers(starter, r.compile);
  return r;
}

SubmissionBuild build_submission(const Recipe& recipe, const fs::path& source, const fs::path& program,
                                 const std::string& called) {
  const fs::path folder = program.parent_path(), object = program.string() + ".o";
  std::vector<std::string> compile = recipe.compile, link = recipe.link;
  replace_first_part(compile, recipe.object, object.string());
  replace_first_part(compile, recipe.source, source.string());
  replace_first_part(link, recipe.object, object.string());
  replace_first_part(link, recipe.program, program.string());

  Enclosure e{.readable = recipe.readable,
              .writable = {folder},
              .compiler = true,
              .memory_bytes = most_memory,
              .processor_seconds = most_seconds,
              .file_bytes = most_file};
  const Ended compiled = run_enclosed(in_one(compile), e);
  if (compiled.status != 0) return {compile_problem(compiled, source, called), compiled.output};
  if (const std::string borrows = what_it_borrows(recipe, object, called); !borrows.empty())
    return {borrows, compiled.output};
  e.readable = {RUNGS_BINARY_DIR};  // the linker runs nothing of it
  e.writable = {folder};
  e.memory_bytes = 0;  // lld maps what it reads
  const Ended linked = run_enclosed("cd '" RUNGS_BINARY_DIR "' && " + in_one(link), e);
  if (linked.status != 0) {
    const std::string missing = missing_functions(linked.output);
    return {missing.empty() ? fmt::format("{} does not link:\n{}", called, compiler_output(linked.output, 5))
                            : fmt::format("{} lacks a function that lesson.hpp declares:\n{}", called, missing),
            linked.output};
  }
  return {"", compiled.output};
}

}  // namespace rungs
