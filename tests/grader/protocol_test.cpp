#include "rungs/grader/protocol.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

struct Pipe {
  int from = -1, to = -1;
  Pipe() {
    int fd[2];
    REQUIRE(pipe2(fd, O_CLOEXEC) == 0);
    from = fd[0], to = fd[1];
    fcntl(from, F_SETFL, O_NONBLOCK);  // its readers have deadlines
  }
  ~Pipe() { close_both(); }
  void close_end(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  void close_both() { close_end(from), close_end(to); }
};

Deadline in(int milliseconds) { return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds); }

Message output() {
  Message m;
  m.kind = Message::output, m.name = "out", m.text = "said", m.number = -7, m.tensor = random_tensor({2, 3}, 1);
  return m;
}

/// The bytes of a message.
std::string on_the_wire(const Message& message) {
  Pipe p;
  REQUIRE(send(p.to, message));
  p.close_end(p.to);
  std::string text(1 << 16, '\0');
  const ssize_t n = read(p.from, text.data(), text.size());
  REQUIRE(n > 0);
  text.resize(size_t(n));
  return text;
}

Received receive_bytes(const std::string& text, Message& m) {
  Pipe p;
  REQUIRE(write(p.to, text.data(), text.size()) == ssize_t(text.size()));
  p.close_end(p.to);
  return receive(p.from, m, in(2000));
}

}  // namespace

TEST_SUITE_BEGIN("protocol");

TEST_CASE("a message comes as it went") {
  Message m;
  REQUIRE(receive_bytes(on_the_wire(output()), m) == Received::message);
  CHECK(m.kind == Message::output);
  CHECK(m.name == "out");
  CHECK(m.text == "said");
  CHECK(m.number == -7);
  CHECK(m.tensor.shape() == Shape{2, 3});
  CHECK(values(m.tensor) == values(random_tensor({2, 3}, 1)));
}

TEST_CASE("a message in pieces is whole: more than a pipe holds, or a byte at a time") {
  Message large = output(), m;
  large.tensor = random_tensor({300, 1000}, 1);  // 1.2 MB; a pipe holds 64 KB
  Pipe full;
  fcntl(full.to, F_SETFL, O_NONBLOCK);  // as the grader writes
  std::thread writes([&] { send(full.to, large, in(5000)); });
  const Received received = receive(full.from, m, in(5000));
  writes.join();
  REQUIRE(received == Received::message);
  CHECK(m.name == "out");
  CHECK(m.text == "said");
  CHECK(values(m.tensor) == values(large.tensor));

  const std::string bytes = on_the_wire(output());
  Pipe slow;
  std::thread dribbles([&] {
    for (const char byte : bytes) {
      if (write(slow.to, &byte, 1) != 1) return;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  const Received dribbled = receive(slow.from, m, in(5000));
  dribbles.join();
  REQUIRE(dribbled == Received::message);
  CHECK(m.name == "out");
  CHECK(m.text == "said");
  CHECK(values(m.tensor) == values(output().tensor));
}

TEST_CASE("tensors of every kind of shape, and none") {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 0}, Shape{1, 2, 3, 4}}) {
    Message m = output();
    m.tensor = Tensor(shape, DType::i64);
    Message back;
    REQUIRE(receive_bytes(on_the_wire(m), back) == Received::message);
    CHECK(back.tensor.shape() == shape);
    CHECK(back.tensor.dtype() == DType::i64);
  }
  Message m;
  m.kind = Message::done;
  REQUIRE(receive_bytes(on_the_wire(m), m) == Received::message);
  CHECK_FALSE(m.tensor);
}

TEST_CASE("wherever it is cut off, it is the end and no message") {
  const std::string text = on_the_wire(output());
  for (size_t n = 0; n < text.size(); ++n) {
    Message m;
    INFO("cut off after ", n, " bytes");
    CHECK(receive_bytes(text.substr(0, n), m) == Received::end);
  }
}

TEST_CASE("whatever byte is changed, nothing is trusted") {
  const std::string text = on_the_wire(output());
  for (size_t at = 0; at < text.size(); ++at)
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = text;
      changed[at] = char(changed[at] ^ flip);
      Message m;
      INFO("byte ", at, " ^ ", flip);
      const Received r = receive_bytes(changed, m);  // a message of other content, or no message; never a crash
      if (at < 4) CHECK(r == Received::broken);
      if (r == Received::message) CHECK(m.tensor.bytes() <= text.size());
    }
}

TEST_CASE("garbage") {
  Message m;
  CHECK(receive_bytes(std::string(200, '\0'), m) == Received::broken);
  CHECK(receive_bytes(std::string(200, '\xff'), m) == Received::broken);
  CHECK(receive_bytes("Pass rate: 100.00% (10/10), and then some more of it, to be longer than a header is at least\n",
                      m) == Received::broken);
}

TEST_CASE("a tensor that claims to be huge is refused before memory is taken") {
  std::string text = on_the_wire(output());
  for (const int64_t dim : {int64_t(1) << 40, int64_t(1) << 62, int64_t(-1), int64_t(1) << 27}) {
    std::string changed = text;
    const std::string old = bytes(int64_t(2)) + bytes(int64_t(3));
    const size_t at = changed.find(old);
    REQUIRE(at != changed.npos);
    changed.replace(at, 8, bytes(dim));
    Message m;
    CHECK(receive_bytes(changed, m) == Received::broken);
  }
}

TEST_CASE("waiting ends at the deadline, also within a message") {
  Pipe p;
  Message m;
  CHECK(receive(p.from, m, in(20)) == Received::too_late);
  const std::string text = on_the_wire(output());
  REQUIRE(write(p.to, text.data(), 10) == 10);
  CHECK(receive(p.from, m, in(20)) == Received::too_late);
}

TEST_CASE("sending ends at the deadline, and when nobody is there") {
  Message large = output();
  large.tensor = random_tensor({1000, 1000}, 1);
  Pipe p;
  fcntl(p.to, F_SETFL, O_NONBLOCK);
  CHECK_FALSE(send(p.to, large, in(20)));
  p.close_end(p.from);
  signal(SIGPIPE, SIG_IGN);
  CHECK_FALSE(send(p.to, large, in(20)));
  CHECK_FALSE(send(p.to, large));
}

TEST_SUITE_END();
