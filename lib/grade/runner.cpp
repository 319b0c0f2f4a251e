#include "grade/runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "grade/wire.hpp"

namespace rungs {

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
      printed_(std::exchange(o.printed_, -1)) {}

Runner::~Runner() {
  stop();
  if (printed_ >= 0) close(printed_);
}

static void limit(int resource, uint64_t most) {
  const rlimit r{most, most};
  setrlimit(__rlimit_resource_t(resource), &r);
}

void Runner::start() {
  if (!std::filesystem::exists(program_)) throw Error(program_.string() + " is not built");
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) throw Error("no pipe to a runner process");
  if (pipe2(out, O_CLOEXEC) != 0) close(in[0]), close(in[1]), throw Error("no pipe from a runner process");

  std::vector<std::string> environment;
  for (char** e = environ; *e; ++e) environment.emplace_back(*e);
  environment.push_back("RUNGS_IMPLEMENTATION=" + implementation_);
  environment.push_back("OMP_NUM_THREADS=1");  // cases are small, and sums keep their order
  std::vector<char*> pointers;
  for (std::string& e : environment) pointers.push_back(e.data());
  pointers.push_back(nullptr);
  const std::string program = program_.string();

  pid_ = fork();
  if (pid_ == 0) {  // only async-signal-safe calls from here to execve
    constexpr int from = 3, to = 4;
    const int keep_in = fcntl(in[0], F_DUPFD, 10), keep_out = fcntl(out[1], F_DUPFD, 10),
              keep_printed = fcntl(printed_, F_DUPFD, 10);
    dup2(keep_in, from), dup2(keep_out, to), dup2(keep_printed, 1), dup2(keep_printed, 2);
    close(keep_in), close(keep_out), close(keep_printed), close(0);
    signal(SIGXFSZ, SIG_IGN);  // printing too much is cut off, not fatal
#if !defined(__SANITIZE_ADDRESS__)
    limit(RLIMIT_AS, limits_.memory_bytes);
#endif
    limit(RLIMIT_FSIZE, limits_.file_bytes);
    limit(RLIMIT_CORE, 0);
    char serve[] = "--serve", three[] = "3", four[] = "4";
    char* arguments[] = {const_cast<char*>(program.c_str()), serve, three, four, nullptr};
    execve(program.c_str(), arguments, pointers.data());
    _exit(127);
  }
  close(in[0]), close(out[1]);
  to_ = in[1], from_ = out[0];
  if (pid_ < 0) stop(), throw Error("no runner process could be started");
}

int Runner::stop() {
  for (int* fd : {&to_, &from_})
    if (*fd >= 0) close(std::exchange(*fd, -1));
  int status = 0;
  if (pid_ > 0) {
    for (int waited_ms = 0; waitpid(pid_, &status, WNOHANG) == 0; ++waited_ms) {
      if (waited_ms == 200) kill(pid_, SIGKILL);  // its pipes are closed; it had time to see that
      usleep(1000);
    }
    pid_ = -1;
  }
  return status;
}

static Message input_message(const std::string& name, const Tensor& tensor) {
  Message m;
  m.kind = Message::input, m.name = name, m.tensor = tensor.view();
  return m;
}

Outcome Runner::run(const CaseInput& in) {
  if (pid_ < 0) start();
  for (const auto& [name, tensor] : in.in) send(to_, input_message(name, tensor));
  Message go;
  go.kind = Message::go, go.name = in.name, go.text = in.run + "\n" + in.model, go.number = in.noise;
  send(to_, go);

  Outcome outcome;
  Message m;
  Received received;
  while ((received = receive(from_, m, limits_.milliseconds)) == Received::message) {
    switch (m.kind) {
      case Message::tap:
      case Message::output:
        outcome.recording.pieces.push_back({m.name, std::move(m.tensor), m.kind == Message::output});
        continue;
      case Message::done:
        outcome.how = Outcome::done, outcome.recording.linear_rows = m.number;
        return outcome;
      case Message::not_written:
        outcome.how = Outcome::not_written, outcome.says = m.text;
        return outcome;
      case Message::threw:
        outcome.how = Outcome::threw, outcome.says = m.text;
        return outcome;
      default:
        received = Received::broken;
    }
    break;
  }
  outcome.how = Outcome::died;
  if (received == Received::too_late) {
    kill(pid_, SIGKILL);
    stop();
    outcome.says = fmt::format("It was still running after {:g} s and was stopped: an endless loop?",
                               limits_.milliseconds / 1000.0);
  } else if (received == Received::broken) {
    kill(pid_, SIGKILL);
    stop();
    outcome.says = "It wrote something else into the grader's pipe.";
  } else {
    const int status = stop();
    outcome.says =
        WIFSIGNALED(status)
            ? fmt::format("It crashed: {} (signal {}).", strsignal(WTERMSIG(status)), WTERMSIG(status))
            : fmt::format("It ended the process, with exit({}), in the middle of a case.", WEXITSTATUS(status));
  }
  return outcome;
}

std::string Runner::printed(size_t most) const {
  const off_t size = lseek(printed_, 0, SEEK_END);
  if (size <= 0) return "";
  const size_t n = std::min(most, size_t(size));
  std::string text(n, '\0');
  const ssize_t got = pread(printed_, text.data(), n, size - off_t(n));
  text.resize(got > 0 ? size_t(got) : 0);
  return text;
}

}  // namespace rungs
