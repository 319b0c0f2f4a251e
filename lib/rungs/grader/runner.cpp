#include "rungs/grader/runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "rungs/base/code_line.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"
#include "rungs/grader/places.hpp"

namespace rungs {

static constexpr int time_to_end_ms = 200;   // for one that waits for cases
static constexpr int time_to_say_ms = 5000;  // how it ended: a busy machine takes its time to clear what it had

Runner::Runner(std::filesystem::path program, std::string implementation, RunnerLimits limits)
    : program_(std::move(program)), implementation_(std::move(implementation)), limits_(limits) {
  signal(SIGPIPE, SIG_IGN);  // a runner that died is noticed when it is read from
  printed_ = memfd_create("printed", MFD_CLOEXEC);
}

Runner::Runner(Runner&& o) noexcept
    : program_(std::move(o.program_)),
      implementation_(std::move(o.implementation_)),
      limits_(o.limits_),
      pid_(std::exchange(o.pid_, -1)),
      to_(std::exchange(o.to_, -1)),
      from_(std::exchange(o.from_, -1)),
      pidfd_(std::exchange(o.pidfd_, -1)),
      printed_(std::exchange(o.printed_, -1)) {}

Runner::~Runner() {
  stop(time_to_end_ms);
  if (printed_ >= 0) close(printed_);
}

RunnerLimits limits_on_gpu() {
  return {
      .milliseconds = 1000 * seconds_on_gpu, .memory_bytes = uint64_t(8) << 30, .file_bytes = 64 << 20, .on_gpu = true};
}

Enclosure enclosure_of_runner(const std::filesystem::path& program, const RunnerLimits& limits) {
  constexpr uint64_t processor_seconds = 300;  // of all its cases; each has its own limit of time
  Enclosure e{.readable = {program},
              .memory_bytes = limits.on_gpu ? 0 : limits.memory_bytes,
              .data_bytes = limits.on_gpu ? limits.memory_bytes : 0,
              .processor_seconds = limits.enclosed ? processor_seconds : 0,
              .file_bytes = limits.file_bytes};
  const std::filesystem::path weights = std::filesystem::absolute(weights_directory());
  for (const char* models : {"decoder", "hybrid", "stories", "tokenizers", "references/models"})
    if (std::filesystem::exists(weights / models)) e.readable.push_back(weights / models);
  return e;
}

/// Program and words; within walls those of the program that makes them come first.
std::vector<std::string> Runner::command(int filter_fd) const {
  const std::vector<std::string> words = {program_.string(), "--serve", "3", "4"};
  return limits_.enclosed && has_walls() ? within_walls(enclosure_of_runner(program_, limits_), words, filter_fd)
                                         : words;
}

/// The grader's own, unless the process is enclosed: whoever runs the grader may keep secrets there.
std::vector<std::string> Runner::environment() const {
  std::vector<std::string> all{"RUNGS_IMPLEMENTATION=" + implementation_,
                               "OMP_NUM_THREADS=1"};  // cases are small, and sums keep their order
  if (limits_.enclosed) {
    all.push_back("RUNGS_WEIGHTS=" + std::filesystem::absolute(weights_directory()).string());
    return all;
  }
  for (char** e = environ; *e; ++e) all.emplace_back(*e);  // of two values the first counts
  return all;
}

static std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void Runner::start() {
  if (!std::filesystem::exists(program_)) throw Error(program_.string() + " is not built");
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) throw Error("no pipe to a runner process");
  if (pipe2(out, O_CLOEXEC) != 0) close(in[0]), close(in[1]), throw Error("no pipe from a runner process");

  constexpr int from = 3, to = 4, filter = 5;
  const int filter_here = limits_.enclosed ? filter_file() : -1;
  const bool walls = limits_.enclosed && has_walls();
  std::vector<std::string> variables = environment(), words = command(filter_here >= 0 ? filter : -1);
  const std::vector<char*> variable_pointers = pointers_to(variables), word_pointers = pointers_to(words);
  const Enclosure limits = enclosure_of_runner(program_, limits_);

  // Until execve the child runs in the grader's memory, while the grader waits: to copy that takes longer than a case
  // does.
  pid_ = vfork();
  if (pid_ == 0) {  // only async-signal-safe calls from here to execve
    const int keep_in = fcntl(in[0], F_DUPFD, 10), keep_out = fcntl(out[1], F_DUPFD, 10),
              keep_printed = fcntl(printed_, F_DUPFD, 10), keep_filter = fcntl(filter_here, F_DUPFD, 10);
    dup2(keep_in, from), dup2(keep_out, to), dup2(keep_printed, 1), dup2(keep_printed, 2);
    if (walls && keep_filter >= 0) dup2(keep_filter, filter);
    close(keep_in), close(keep_out), close(keep_printed), close(keep_filter), close(0);
    setpgid(0, 0);                     // so that its children end with it
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // and it ends with the grader
    signal(SIGXFSZ, SIG_IGN);          // printing too much is cut off, not fatal
    limit_process(limits);
    if (limits_.enclosed && !walls) forbid_processes();
    execve(word_pointers[0], word_pointers.data(), variable_pointers.data());
    _exit(127);
  }
  close(in[0]), close(out[1]);
  if (filter_here >= 0) close(filter_here);
  to_ = in[1], from_ = out[0];
  if (pid_ < 0) stop(0), throw Error("no runner process could be started");
  setpgid(pid_, pid_);                                               // here too: whoever comes first
  for (const int fd : {to_, from_}) fcntl(fd, F_SETFL, O_NONBLOCK);  // one that does nothing must not keep the grader
  pidfd_ = int(syscall(SYS_pidfd_open, pid_, 0));
}

/// Ends the process and what it left behind. Gives its status.
int Runner::stop(int patience_ms) {
  for (int* fd : {&to_, &from_, &pidfd_})
    if (*fd >= 0) close(std::exchange(*fd, -1));
  int status = 0;
  if (pid_ <= 0) return status;
  siginfo_t end{};
  for (int waited_ms = 0; waited_ms < patience_ms; ++waited_ms) {  // its pipes are closed; it has time to see that
    if (waitid(P_PID, id_t(pid_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == pid_) break;
    usleep(1000);
  }
  kill(-pid_, SIGKILL);  // the whole group, while the number is still taken
  waitpid(std::exchange(pid_, -1), &status, 0);
  return status;
}

static Message input_message(const std::string& name, const Tensor& tensor) {
  Message m;
  m.kind = Message::input, m.name = name, m.tensor = tensor.view();
  return m;
}

Outcome Runner::run(const CaseInput& in) {
  if (ftruncate(printed_, 0) == 0) lseek(printed_, 0, SEEK_SET);  // the process writes at the same place
  if (pid_ < 0) start();
  const Deadline until = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits_.milliseconds);
  for (const auto& [name, tensor] : in.in) send(to_, input_message(name, tensor), until);
  Message go;
  go.kind = Message::go, go.name = in.name, go.text = in.run + "\n" + in.model, go.number = int64_t(in.fresh);
  send(to_, go, until);  // whether it still reads is seen by what it answers
  return listen(until);
}

std::optional<Outcome> Runner::run_with_noise(const CaseInput& in, const Outcome& judged) {
  if (!may_show_fresh_memory(judged)) return std::nullopt;
  return run(in.with_fresh(FreshMemory::noise));
}

static constexpr int milliseconds_once_late = 1000;

/// A sentence of the code under grade, which may be as long as it likes and hold what commands a terminal. So may the
/// files that its lines are in.
static std::string shown(const std::string& text, const std::filesystem::path& program) {
  constexpr size_t most = 2000;
  const std::string said = with_lines(text.substr(0, most), program);
  return printable(std::string_view(said).substr(0, most)) + (std::max(text.size(), said.size()) > most ? "..." : "");
}

bool take(Outcome& outcome, Message& m) {
  switch (m.kind) {
    case Message::tap:
    case Message::output:
      outcome.recording.pieces.push_back({m.name, std::move(m.tensor), m.kind == Message::output});
      return true;
    case Message::done:
      outcome.how = Outcome::done, outcome.recording.linear_rows = m.number;
      return true;
    case Message::not_written:
      outcome.how = Outcome::not_written, outcome.says = m.text;
      return true;
    case Message::threw:
      outcome.how = Outcome::threw, outcome.says = m.text, outcome.calls = m.name, outcome.no_exception = m.number != 0;
      return true;
    default:
      return false;
  }
}

/// Takes in what the process sends for one case, until it says how the case ended.
Outcome Runner::listen(Deadline until) {
  Outcome outcome;
  const auto end_process = [&](const std::string& why) {
    outcome.how = Outcome::died, outcome.says = why;
    stop(0);
  };
  Message m;
  Received received;
  uint64_t bytes = 0;
  while ((received = receive(from_, m, until, pidfd_)) == Received::message) {
    if (!take(outcome, m)) {
      received = Received::broken;
      break;
    }
    if (outcome.how != Outcome::died) {  // that was the last one
      outcome.says = shown(outcome.says, program_);
      if (outcome.how == Outcome::threw && limits_.on_gpu) stop(0);
      return outcome;
    }
    const Recorded& piece = outcome.recording.pieces.back();
    bytes += piece.value.bytes() + piece.name.size() + sizeof(Recorded);
    if (bytes > limits_.sent_bytes) {
      end_process(fmt::format("It sent more than {} MB of taps and outputs and was stopped: a tap in an endless loop?",
                              limits_.sent_bytes >> 20));
      return outcome;
    }
  }
  if (received == Received::too_late) {
    end_process(fmt::format("It was still running after {:g} s and was stopped: an endless loop?",
                            limits_.milliseconds / 1000.0));
    outcome.too_late = true;
    limits_.milliseconds = std::min(limits_.milliseconds, milliseconds_once_late);
  } else if (received == Received::broken) {
    end_process("It wrote something else into the grader's pipe.");
  } else {
    tell_why_it_ended(outcome);
  }
  return outcome;
}

/// What a status says that is no signal's.
static std::string how_it_left(int code) {
  if (code == lost_the_grader) return "It closed the pipe to the grader in the middle of a case.";
  if (code == 127) return "Its program could not be started.";
  return fmt::format("It ended the process, with exit({}), in the middle of a case.", code);
}

void Runner::tell_why_it_ended(Outcome& outcome) {
  outcome.how = Outcome::died;
  const int status = stop(time_to_say_ms);
  constexpr int signal_within = 128;  // within walls a signal comes as such a status
  const bool by_signal = WIFSIGNALED(status) || (limits_.enclosed && WEXITSTATUS(status) > signal_within);
  if (!by_signal) {
    outcome.says = how_it_left(WEXITSTATUS(status));
    return;
  }
  const std::string output = end_of_output(2000);
  if (const size_t at = output.find(calls_follow); at != output.npos) outcome.calls = output.substr(at + 1);
  const auto says = [&](const char* what) { return output.find(what) != output.npos; };
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - signal_within;
  const char* hint = "";
  if (signal == SIGSEGV || signal == SIGBUS)
    hint = says("touches device memory")
               ? ": the host's code reads or writes device memory, which it cannot reach: cudaMemcpy copies it"
               : ": memory that is not its own, or calls without end";
  if (signal == SIGFPE) hint = ": an integer divided by zero";
  if (signal == SIGABRT)
    hint = says("Assertion '") ? ": an index outside a vector or a text, or a value taken where none is"
                               : ": memory written outside its bounds, or an exception where none may pass";
  outcome.says = fmt::format("It crashed: {} (signal {}){}.", strsignal(signal), signal, hint);
}

std::string Runner::printed(size_t most) const {
  constexpr size_t most_calls = 300;
  std::string text = end_of_output(most + most_calls);
  text.resize(std::min(text.size(), text.find(calls_follow)));
  return text.substr(text.size() - std::min(text.size(), most));
}

std::string Runner::end_of_output(size_t most) const {
  const off_t size = lseek(printed_, 0, SEEK_END);
  if (size <= 0) return "";
  const size_t n = std::min(most, size_t(size));
  std::string text(n, '\0');
  const ssize_t got = pread(printed_, text.data(), n, size - off_t(n));
  text.resize(got > 0 ? size_t(got) : 0);
  return text;
}

}  // namespace rungs
