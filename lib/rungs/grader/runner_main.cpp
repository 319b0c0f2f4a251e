// The process that holds the code under grade. Cases come in on one pipe, tensors go out on another. With --case DIR it
// runs one case in this very process and prints the comparison, for a debugger.
#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <typeinfo>

#include "rungs/grader/implementation.hpp"
#include "rungs/grader/judge.hpp"
#include "rungs/grader/places.hpp"
#include "rungs/grader/protocol.hpp"
#include "rungs/tensor/tap.hpp"

using namespace rungs;

static void record_taps(Recording& recording) {
  watch_taps([&recording](const std::string& name, const Tensor& value) { recording.add(name, value, false); });
}

static int run_one(const Implementation& implementation, const std::string& directory) {
  const Case c = load_case(directory);
  Outcome outcome;
  record_taps(outcome.recording);
  implementation.run(c.input, outcome.recording);  // exceptions and signals reach the debugger
  outcome.how = Outcome::done;
  const Verdict verdict = judge(std::move(outcome), c);
  fmt::print("{}", describe(verdict, c));
  return verdict.pass ? 0 : 1;
}

/// The type of what is being caught: "int".
static std::string type_of_thrown() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (!type) return "unknown";
  char* text = abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr);
  const std::string name = text ? text : type->name();
  std::free(text);
  return name;
}

static Message run_case(const Implementation& implementation, const CaseInput& in, int fd) {
  Message last;
  Recording recording;
  recording.fd = fd;
  record_taps(recording);
  forget_calls();  // what is thrown on another thread notes them there
  try {
    implementation.run(in, recording);
    last.kind = Message::done;
    last.number = recording.linear_rows;
  } catch (const NotWritten& e) {
    last.kind = Message::not_written, last.text = e.what();
  } catch (const std::bad_alloc&) {
    last.kind = Message::threw, last.text = "std::bad_alloc, there is no more memory for it";
  } catch (const std::exception& e) {
    last.kind = Message::threw, last.text = e.what(), last.name = calls_of_last_throw();
  } catch (...) {
    last.kind = Message::threw, last.number = 1;
    last.text = fmt::format("something that is not a std::exception (its type is {})", type_of_thrown());
  }
  std::fflush(stdout), std::cout.flush();  // what was printed belongs to this case
  return last;
}

static int from_grader, to_grader;

/// A child of the code under grade must not take the cases that are meant for its parent, nor answer them.
static void keep_pipes_from_children() {
  for (const int fd : {from_grader, to_grader}) fcntl(fd, F_SETFD, FD_CLOEXEC);
  pthread_atfork(nullptr, nullptr, [] { close(from_grader), close(to_grader); });
}

static int serve(const Implementation& implementation, int from, int to) {
  from_grader = from, to_grader = to;
  keep_pipes_from_children();
  note_calls();
  signal(SIGPIPE, SIG_IGN);
  CaseInput in;
  for (Message m; receive(from, m) == Received::message;) {
    if (m.kind == Message::input) {
      in.in[m.name] = std::move(m.tensor);
      continue;
    }
    const size_t split = m.text.find('\n');
    in.name = m.name, in.run = m.text.substr(0, split), in.model = m.text.substr(split + 1);
    set_fresh_memory(FreshMemory(m.number));
    if (!send(to, run_case(implementation, in, to))) return lost_the_grader;
    in = {};
  }
  return 0;
}

int main(int argc, char** argv) {
  const auto all = implementations();
  if (argc == 4 &&
      !std::strcmp(argv[1], "--serve"))  // --serve FROM TO, then cases of the implementation named in the environment
    if (const char* name = std::getenv("RUNGS_IMPLEMENTATION"))
      for (const Implementation& i : all)
        if (!std::strcmp(i.name, name)) return serve(i, std::atoi(argv[2]), std::atoi(argv[3]));
  if (argc == 3 && !std::strcmp(argv[1], "--case")) return run_one(all[0], argv[2]);
  fmt::print(stderr, "usage: {} --case DIR    runs one reference case here, for a debugger\n", argv[0]);
  return 2;
}
