/// A running `rungs serve`, and how tests ask it.
#pragma once

#include <fcntl.h>
#include <httplib.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"
#include "support.hpp"

namespace rungs::test {

/// A server on weights/stories at a free port, for as long as this lives.
class Server {
 public:
  /// `before`: words that stand before rungs, "mpirun" and its options.
  explicit Server(std::vector<std::string> options = {}, std::vector<std::string> before = {})
      : alone_(before.empty()) {
    std::vector<std::string> words = std::move(before);
    words.insert(words.end(), {RUNGS_COMMAND, "serve", "--port", "0", "--threads", "1"});
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // a server that hangs up is found by what was to be sent, here and in cpp-httplib
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves no server
      dup2(open((folder_ / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 1);
      dup2(open((folder_ / "err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 2);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    for (std::string out; port == 0; usleep(10'000)) {
      REQUIRE(waitpid(pid_, nullptr, WNOHANG) == 0);
      if (std::filesystem::exists(folder_ / "out")) out = read_text(folder_ / "out");
      const size_t at = out.find("http://");
      if (at == out.npos || !out.ends_with("\n")) continue;
      url = out.substr(at, out.find('\n', at) - at);
      port = std::stoi(url.substr(url.rfind(':') + 1));
    }
  }
  ~Server() {
    if (pid_ <= 0) return;
    if (!alone_) kill(pid_, SIGTERM);  // mpirun ends its processes, too
    for (int i = 0; !alone_ && i < 500 && waitpid(pid_, nullptr, WNOHANG) == 0; ++i) usleep(10'000);
    if (waitpid(pid_, nullptr, WNOHANG) == 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  void signal(int number) const { kill(pid_, number); }
  /// Waits for its end.
  int status() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string said() const { return read_text(folder_ / "err"); }
  httplib::Client client() const {
    httplib::Client c("127.0.0.1", port);
    c.set_read_timeout(60);
    return c;
  }
  /// A number of /metrics.
  int64_t count(const std::string& name) const {
    const auto result = client().Get("/metrics");
    REQUIRE(result);
    const size_t at = result->body.find("\nrungs_" + name + " ");
    REQUIRE(at != std::string::npos);
    return std::stoll(result->body.substr(at + name.size() + 8));
  }
  /// Whether it comes to this within a minute: requests of clients that went away may still be on their way.
  template <typename Condition>
  static bool comes_to(const Condition& condition) {
    for (int i = 0; i < 6000; ++i, usleep(10'000))
      if (condition()) return true;
    return false;
  }
  int64_t ended() const { return count("requests_cancelled_total") + count("requests_finished_total"); }

  std::string url;  // as it prints it
  int port = 0;

 private:
  bool alone_;
  Folder folder_;
  pid_t pid_ = -1;
};

inline nlohmann::json ask(httplib::Client& client, const nlohmann::json& body, int status = 200,
                          const char* path = "/v1/completions") {
  const auto result = client.Post(path, body.dump(), "application/json");
  REQUIRE(result);
  CHECK(result->status == status);
  return nlohmann::json::parse(result->body);
}

/// A socket that says what it is told to, and no more.
inline int connection(int port, const std::string& says) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET, to.sin_port = htons(uint16_t(port)), to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  REQUIRE(send(socket, says.data(), says.size(), 0) == ssize_t(says.size()));
  return socket;
}

/// All that comes back until the server ends the connection.
inline std::string answer(int port, const std::string& says) {
  const int socket = connection(port, says);
  std::string text(100'000, ' ');
  size_t size = 0;
  for (ssize_t n; (n = recv(socket, text.data() + size, text.size() - size, 0)) > 0;) size += size_t(n);
  close(socket);
  return text.substr(0, size);
}

/// A prompt, and what weights/stories continues it with.
inline const nlohmann::json story = {{"prompt", "Once upon a time"}, {"max_tokens", 12}, {"temperature", 0}};
inline constexpr const char* told = ", there was a little boy named Finn. He liked to";

}  // namespace rungs::test
