// Lesson 06 written by the unlucky and by the hostile: attend is right but for seven tokens, where it does
// what its name says. Runner processes of this program are what runner_test.cpp grades.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "pieces.hpp"
#include "rungs/grader/protocol.hpp"
#include "rungs/tensor/tap.hpp"

using namespace rungs;

namespace {

constexpr int grader = 4;  // the pipe that leads there

int64_t zero() {  // that the compiler does not see
  static volatile int64_t value = 0;
  return value;
}

void null_pointer(Tensor&) { *reinterpret_cast<volatile float*>(zero()) = 1; }

void wild_pointer(Tensor& out) { out.data()[(int64_t(1) << 40) + zero()] = 1; }

void index_outside(Tensor& out) { out(0, 1000) = 1; }

void divides_by_zero(Tensor& out) { out(0, 0) = float(3 / zero()); }

int64_t deeper(int64_t n) {
  volatile char frame[4096];
  frame[0] = char(n);
  return zero() == 0 ? deeper(n + 1) + frame[0] : 0;
}
void calls_without_end(Tensor& out) { out(0, 0) = float(deeper(0)); }

void loops(Tensor&) {
  while (zero() == 0) continue;
}

void sleeps(Tensor&) { sleep(1000); }

void stops_itself(Tensor&) { raise(SIGSTOP); }

void kills_itself(Tensor&) { raise(SIGKILL); }

void taps_without_end(Tensor&) {
  const Tensor large({1000, 1000});
  while (zero() == 0) tap("scores", large);
}

void takes_all_memory(Tensor&) {
  static std::vector<char*> kept;
  while (zero() == 0) {
    constexpr size_t bytes = 64 << 20;
    kept.push_back(new char[bytes]);
    kept.back()[0] = 1;
  }
}

/// As the CUDA driver does: 64 GiB of addresses that nobody may read or write.
void reserves_addresses(Tensor&) {
  if (mmap(nullptr, size_t(64) << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    throw std::runtime_error("no addresses");
}

void prints_100_mb(Tensor&) {
  const std::string line(999, 'x');
  for (int i = 0; i < 100'000; ++i) std::printf("%s\n", line.c_str());
}

void exits(Tensor&) { std::exit(0); }

void indexes_a_vector_outside(Tensor& out) {
  const std::vector<float> few(3);
  out(0, 0) = few[size_t(zero()) + 1000];
}

void throws_40000_letters(Tensor&) { throw std::runtime_error(std::string(40000, 'x')); }

void throws_commands_of_a_terminal(Tensor&) { throw std::runtime_error("\x1b[2J\nPass rate: 100.00%"); }

void throws_what_is_no_utf8(Tensor&) { throw std::runtime_error("\xFF\xC0"); }

void throws_a_number(Tensor&) { throw 7; }

void throws_where_none_may_pass(Tensor&) {
  []() noexcept { throw std::runtime_error("never seen"); }();
}

void closes_everything(Tensor&) {
  for (int fd = 0; fd < 100; ++fd) close(fd);
}

/// Longer than one that only waits for cases may take.
void leaves_slowly(Tensor&) {
  close(grader);
  usleep(400'000);
  _exit(3);
}

void writes_into_the_pipe(Tensor&) {
  const char text[] = "score: 100%";
  (void)!write(grader, text, sizeof text);
}

/// Tells the grader that all is done, and then does not listen any more.
void says_done_and_stops(Tensor&) {
  Message m;
  m.kind = Message::done;
  send(grader, m);
  raise(SIGSTOP);
}

void names_another_kind(Tensor&) {
  Message m;
  m.kind = Message::go;
  send(grader, m);
}

/// Both processes come back from here, and both would answer: the child first.
void forks(Tensor&) {
  if (fork() == 0)
    std::printf("child %d\n", getpid()), std::fflush(stdout);
  else
    usleep(200'000);
}

/// The child holds the pipes open for longer than anyone waits; no handler of fork() runs.
void leaves_a_child(Tensor&) {
  if (syscall(SYS_fork) == 0) {
    std::printf("child %ld\n", syscall(SYS_getpid)), std::fflush(stdout);
    sleep(1000);
  }
  usleep(200'000);
  _exit(0);
}

/// Prints what it could do that an enclosed process must not.
void reaches_out(Tensor&) {
  const auto could = [](const char* what, bool success) {
    if (success) std::printf("could %s\n", what), std::fflush(stdout);
  };
  const auto opens = [](const char* path, int how) { return open(path, how, 0600) >= 0; };
  could("read a reference",
        opens(RUNGS_SOURCE_DIR "/weights/references/06_causal_mask/02_attend_two_tokens/case.json", O_RDONLY));
  could("read a solution", opens(RUNGS_SOURCE_DIR "/lessons/06_causal_mask/solution.cpp", O_RDONLY));
  could("read the mistakes", opens(RUNGS_SOURCE_DIR "/lessons/06_causal_mask/mistakes.toml", O_RDONLY));
  could("list the lessons", opens(RUNGS_SOURCE_DIR "/lessons", O_RDONLY | O_DIRECTORY));
  could("read what lies beside", opens(RUNGS_SOURCE_DIR "/README.md", O_RDONLY));
  could("read /etc/passwd", opens("/etc/passwd", O_RDONLY));
  could("write beside itself", opens(RUNGS_SOURCE_DIR "/written_by_a_submission", O_WRONLY | O_CREAT));
  could("write /", opens("/written_by_a_submission", O_WRONLY | O_CREAT));
  could("see other processes", opens("/proc/1/cmdline", O_RDONLY));
  could("open a socket", socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
  could("leave its session", setsid() >= 0);
  could("leave its group", setpgid(0, 0) == 0);
  const pid_t children[] = {fork(), vfork(), pid_t(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))};
  for (const pid_t child : children) {
    if (child == 0) _exit(0);
    could("start a process", child > 0);
  }
  could("see the grader's environment", std::getenv("HOME") || std::getenv("PATH"));
  if (!opens("/tmp/own", O_WRONLY | O_CREAT)) std::printf("could not write its own folder\n");
}

/// A thread is no process.
void starts_a_thread(Tensor& out) {
  std::thread([&] { out.flat(0) = 0; }).join();
}

using Attend = void(Tensor&, const Tensor&, const Tensor&, const Tensor&);

/// The attend of one of them, within the solution.
template <Attend attend>
void with(const CaseInput& in, Recording& rec) {
  lesson_06::run(in, {attend, lesson_06::attention, lesson_06::decoder_forward}, rec);
}

template <void misbehave(Tensor&)>
void attend_but(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.dim(0) == 7) misbehave(out);
  lesson_06::sdpa(out, q, k, v);
}

/// Right for the first case that a process runs.
void keeps_state(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  static float kept = 0;
  lesson_06::sdpa(out, q, k, v);
  for (int64_t i = 0; i < out.count(); ++i) out.flat(i) += kept;
  kept += 1;
}

/// As an error of a kernel, which is that of every call after it.
void stays_broken(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  static bool broken = false;
  broken = broken || q.dim(0) == 2;
  if (broken) throw std::runtime_error("an illegal memory access was encountered");
  lesson_06::sdpa(out, q, k, v);
}

/// Taps are a service to the learner, who may do without.
void silent(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  watch_taps({});
  lesson_06::sdpa(out, q, k, v);
}

void silent_and_wrong(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v) {
  silent(out, q, k, v);
  out.flat(0) += 1;
}

/// Passes no case but those that must fail, were they counted.
void throws_always(const CaseInput&, Recording&) { throw std::runtime_error("no"); }

}  // namespace

std::span<const Implementation> rungs::implementations() {
#define BUT(name) \
  { #name, with < attend_but < name>> }
  static const Implementation list[] = {BUT(null_pointer),
                                        BUT(wild_pointer),
                                        BUT(index_outside),
                                        BUT(divides_by_zero),
                                        BUT(calls_without_end),
                                        BUT(loops),
                                        BUT(sleeps),
                                        BUT(stops_itself),
                                        BUT(kills_itself),
                                        BUT(taps_without_end),
                                        BUT(takes_all_memory),
                                        BUT(reserves_addresses),
                                        BUT(prints_100_mb),
                                        BUT(exits),
                                        BUT(indexes_a_vector_outside),
                                        BUT(throws_40000_letters),
                                        BUT(throws_commands_of_a_terminal),
                                        BUT(throws_what_is_no_utf8),
                                        BUT(throws_a_number),
                                        BUT(throws_where_none_may_pass),
                                        BUT(closes_everything),
                                        BUT(leaves_slowly),
                                        BUT(writes_into_the_pipe),
                                        BUT(says_done_and_stops),
                                        BUT(names_another_kind),
                                        BUT(forks),
                                        BUT(leaves_a_child),
                                        BUT(reaches_out),
                                        BUT(starts_a_thread),
                                        {"keeps_state", with<keeps_state>},
                                        {"stays_broken", with<stays_broken>},
                                        {"throws_always", throws_always},
                                        {"silent", with<silent>},
                                        {"silent_and_wrong", with<silent_and_wrong>}};
#undef BUT
  return list;
}
