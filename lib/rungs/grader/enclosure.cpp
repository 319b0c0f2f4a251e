#include "rungs/grader/enclosure.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace rungs {

namespace fs = std::filesystem;

namespace {

using Filter = std::vector<sock_filter>;

/// Answers a call of this number with an error.
void refuse(Filter& filter, long number, uint32_t error) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(number), 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
}

/// Ends the process unless the word in the accumulator is `wanted` (or, with BPF_JGE for `test`, when it is as large).
void demand(Filter& filter, uint16_t test, uint32_t wanted) {
  const bool is_equal = test == BPF_JEQ;
  filter.push_back(BPF_JUMP(uint16_t(BPF_JMP | test | BPF_K), wanted, uint8_t(is_equal), uint8_t(!is_equal)));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
}

/// No process, no session, no socket, no look into another process and no signal to one. Empty for a kind of processor
/// that it does not know.
Filter make_filter() {
#if defined(__x86_64__)
  constexpr uint32_t this_processor = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
  constexpr uint32_t this_processor = AUDIT_ARCH_AARCH64;
#else
  return {};
#endif
  constexpr uint32_t calls_of_another_kind = 0x40000000;  // x32's begin here
  constexpr uint32_t thread_flag = 0x00010000;            // CLONE_THREAD
  Filter f = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch))};
  demand(f, BPF_JEQ, this_processor);
  f.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  demand(f, BPF_JGE, calls_of_another_kind);
#if defined(__x86_64__)
  refuse(f, SYS_fork, EAGAIN), refuse(f, SYS_vfork, EAGAIN);
#endif
  refuse(f, SYS_clone3, ENOSYS);  // its flags are not to be seen here; the C library then takes clone
  for (const long call : {SYS_setsid, SYS_setpgid, SYS_socket, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
                          SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_pidfd_send_signal})
    refuse(f, call, EPERM);  // tgkill stays: raise() and abort() need it
  f.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  f.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])));
  f.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, thread_flag, 1, 0));
  f.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN));
  f.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return f;
}

/// Made when first asked for, which must be before a fork.
const Filter& filter() {
  static const Filter made = make_filter();
  return made;
}

/// Where a program is; "": nowhere on the PATH.
std::string on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  const std::string folders = path ? path : "/usr/bin:/bin";
  for (size_t begin = 0, end; begin <= folders.size(); begin = end + 1) {
    end = std::min(folders.find(':', begin), folders.size());
    std::string file = folders.substr(begin, end - begin) + "/" + name;
    if (file[0] == '/' && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

const std::string& bubblewrap() {
  static const std::string found = on_path("bwrap");
  return found;
}

void add(std::vector<std::string>& list, std::initializer_list<std::string> words) { list.insert(list.end(), words); }

void limit_one(int resource, uint64_t most) {
  if (most == 0) return;
  const rlimit r{most, most};
  setrlimit(__rlimit_resource_t(resource), &r);
}

bool walls_stand() {
  if (bubblewrap().empty()) return false;
  const std::vector<std::string> words = within_walls({.compiler = true}, {"/usr/bin/true"}, -1);
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 1), dup2(nowhere, 2);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 1;
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

}  // namespace

bool has_walls() {
  static const bool stand = walls_stand();
  return stand;
}

std::vector<std::string> within_walls(const Enclosure& e, const std::vector<std::string>& command, int filter_fd) {
  std::vector<std::string> words = {bubblewrap(),    "--unshare-all", "--die-with-parent",
                                    "--new-session", "--cap-drop",    "ALL"};
  if (e.compiler) {
    for (const char* folder : {"/usr", "/bin", "/sbin", "/etc/alternatives"})
      add(words, {"--ro-bind-try", folder, folder});
    add(words, {"--dev-bind", "/dev/null", "/dev/null"});
  }
  for (const char* folder : {"/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache"})
    add(words, {"--ro-bind-try", folder, folder});
  constexpr const char* folder_bytes[] = {"16777216", "268435456"};  // in memory, for a runner and for a compiler
  add(words, {"--size", folder_bytes[e.compiler], "--tmpfs", "/tmp"});
  for (const fs::path& path : e.readable) add(words, {"--ro-bind", path.string(), path.string()});
  for (const fs::path& path : e.writable) add(words, {"--bind", path.string(), path.string()});
  add(words, {"--remount-ro", "/", "--chdir", "/tmp"});
  if (filter_fd >= 0) add(words, {"--seccomp", std::to_string(filter_fd)});
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

void limit_process(const Enclosure& e) {
#if !defined(__SANITIZE_ADDRESS__)
  limit_one(RLIMIT_AS, e.memory_bytes);
  limit_one(RLIMIT_DATA, e.data_bytes);
#endif
  limit_one(RLIMIT_CPU, e.processor_seconds);
  limit_one(RLIMIT_FSIZE, e.file_bytes);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

int filter_file() {
  const int fd = filter().empty() ? -1 : memfd_create("filter", MFD_CLOEXEC);
  const size_t bytes = filter().size() * sizeof(sock_filter);
  if (fd >= 0 && write(fd, filter().data(), bytes) == ssize_t(bytes) && lseek(fd, 0, SEEK_SET) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

void forbid_processes() {
  if (filter().empty()) return;
  const sock_fprog program{uint16_t(filter().size()), const_cast<sock_filter*>(filter().data())};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

std::string walls_sentence() {
  if (has_walls()) return "Each submission is built and run by itself, behind bubblewrap's walls.";
  return bubblewrap().empty()
             ? "bubblewrap is not installed: submissions are limited in time, memory and processes, but can read and "
               "delete your files; `apt-get install bubblewrap` gives them walls."
             : "bubblewrap makes no namespaces here: submissions are limited in time, memory and processes, but can "
               "read and delete your files.";
}

}  // namespace rungs
