// The program: what is done with the command that was chosen, and how an error is told.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "command_line.hpp"
#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"
#include "rungs/ops/processor.hpp"

namespace rungs {

namespace {

/// With what the program was compiled for, which a report of a fault needs.
std::string version() {
  std::string targets;
  for (const VectorTarget& t : vector_targets())
    targets += fmt::format("{}{}{}", targets.empty() ? "" : ", ", t.name, t.used ? " (used here)" : "");
  return fmt::format("rungs {}\ncompiled for {}; vectors: {}{}", RUNGS_VERSION, baseline(), targets,
                     uses_bf16_dot() ? "; dot products of bf16" : "");
}

constexpr const char* output_not_written = "standard output could not be written to the end";
constexpr const char* no_memory = "there is not enough memory";

int run(int argc, char** argv) {
  CommandLine line{argv};
  line.app.require_subcommand(0, 1);
  line.app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  line.app.set_version_flag("--version", version);
  add_learning(line);
  add_learning_aids(line);
  add_teaching(line);
  add_show(line);
  add_use(line);
  add_files(line);
  add_measuring(line);
  add_calc(line);
  line.app.footer("`rungs COMMAND --help` shows the options of a command.");
  read_numbers_as_people_do(line.app);
  try {
    check_words(line.app, std::span(argv, size_t(argc)).subspan(1));
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != int(CLI::ExitCodes::Success)) throw UsageError(e.what());
    line.chosen = [&line, status = line.app.exit(e)] { return status; };  // --help, --version
  }
  if (!line.chosen) line.chosen = [&] { return fmt::print("{}", line.app.help()), 0; };
  const int status = line.chosen();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw FileError(output_not_written);
  return status;
}

/// "lengths: wanted ..." and CLI11's sentences end alike: without a period, on one line. What they quote may be long.
int fail(int status, const std::string& sentence) {
  constexpr size_t most = 2000;
  fmt::print(stderr, "rungs: {}{}\n", printable(std::string_view(sentence).substr(0, most)),
             sentence.size() > most ? "..." : "");
  return status;
}

/// What is called where an exception cannot be thrown: the JSON library allocates in destructors. To say so must take
/// no memory.
[[noreturn]] void end_without_memory() {
  if (const std::exception_ptr thrown = std::current_exception()) try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      for (const char* part : {"rungs: ", no_memory, "\n"}) std::fputs(part, stderr);
      std::_Exit(1);
    } catch (...) {
    }
  std::abort();
}

}  // namespace

int report_error(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return fail(1, no_memory);
  const int status = dynamic_cast<const UsageError*>(&error) ? 2 : dynamic_cast<const FileError*>(&error) ? 3 : 1;
  return status == 1 && std::ferror(stdout) ? fail(3, output_not_written) : fail(status, error.what());
}

}  // namespace rungs

int main(int argc, char** argv) {
  using namespace rungs;
  std::set_terminate(end_without_memory);
  name_files_cut_short();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow further is said, as a full disk is
  std::signal(SIGCHLD, SIG_DFL);  // who started this program may not have wanted to hear of its own children's ends
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    return report_error(e);
  }
}
