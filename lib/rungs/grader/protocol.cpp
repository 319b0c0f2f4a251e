#include "rungs/grader/protocol.hpp"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace rungs {

namespace {

using Clock = std::chrono::steady_clock;

/// The fixed part of a message; name, text and tensor data follow.
struct Header {
  uint32_t mark;  // what does not begin with it is no message
  char kind;
  uint8_t dtype, rank, has_tensor;
  uint32_t name_bytes, text_bytes;
  int64_t number;
  int64_t dims[Shape::max_rank];
};

constexpr uint32_t mark = 0x52554e47;
constexpr uint32_t most_text = 1 << 16;
constexpr int64_t most_elements = int64_t(1) << 26;

/// False when the deadline passes first.
bool wait_for(pollfd* fds, nfds_t count, const Deadline& until) {
  for (;;) {
    const auto left = until ? std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count() : -1;
    const int ready = poll(fds, count, until ? int(std::max<int64_t>(0, left)) : -1);
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) return false;
  }
}

/// What a message is made of, or fills: the kernel takes all parts in one call.
using Parts = std::vector<iovec>;

/// Parts without the first `bytes`, and without what is empty before the rest.
void leave_behind(Parts& parts, size_t bytes) {
  size_t whole = 0;
  while (whole < parts.size() && parts[whole].iov_len <= bytes) bytes -= parts[whole++].iov_len;
  parts.erase(parts.begin(), parts.begin() + std::ptrdiff_t(whole));
  if (bytes > 0) parts[0] = {static_cast<char*>(parts[0].iov_base) + bytes, parts[0].iov_len - bytes};
}

bool write_all(int fd, Parts parts, const Deadline& until) {
  for (leave_behind(parts, 0); !parts.empty();) {
    pollfd writable{fd, POLLOUT, 0};
    if (until && !wait_for(&writable, 1, until)) return false;
    const ssize_t n = writev(fd, parts.data(), int(parts.size()));
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return false;
    leave_behind(parts, size_t(n));
  }
  return true;
}

/// Bytes from one end of a pipe, until a deadline, as long as the process that writes is alive.
struct Source {
  int fd, pidfd;
  Deadline until;

  Received read_all(Parts parts) const {
    for (leave_behind(parts, 0); !parts.empty();) {
      const ssize_t n = readv(fd, parts.data(), int(parts.size()));
      if (n > 0) {
        leave_behind(parts, size_t(n));
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n == 0 || errno != EAGAIN) return Received::end;
      pollfd ready[] = {{fd, POLLIN, 0}, {pidfd, POLLIN, 0}};
      if (!wait_for(ready, pidfd < 0 ? 1 : 2, until)) return Received::too_late;
      if (!ready[0].revents) return Received::end;
    }
    return Received::message;
  }
};

}  // namespace

bool send(int fd, const Message& m, Deadline until) {
  Header h{};
  h.mark = mark;
  h.kind = m.kind;
  h.name_bytes = uint32_t(std::min<size_t>(m.name.size(), most_text));
  h.text_bytes = uint32_t(std::min<size_t>(m.text.size(), most_text));
  h.number = m.number;
  h.has_tensor = bool(m.tensor);
  h.dtype = uint8_t(m.tensor.dtype());
  h.rank = uint8_t(m.tensor.shape().rank());
  for (int d = 0; d < h.rank; ++d) h.dims[d] = m.tensor.dim(d);
  const auto part = [](const void* data, size_t bytes) { return iovec{const_cast<void*>(data), bytes}; };
  return write_all(fd,
                   {part(&h, sizeof h), part(m.name.data(), h.name_bytes), part(m.text.data(), h.text_bytes),
                    part(m.tensor.raw(), m.tensor.bytes())},
                   until);
}

Received receive(int fd, Message& m, Deadline until, int pidfd) {
  const Source from{fd, pidfd, until};
  Header h{};
  if (const Received r = from.read_all({{&h, sizeof h}}); r != Received::message) return r;
  if (h.mark != mark || h.name_bytes > most_text || h.text_bytes > most_text || h.rank > Shape::max_rank ||
      h.dtype > uint8_t(DType::i64))
    return Received::broken;
  m = {};
  m.kind = Message::Kind(h.kind);
  m.number = h.number;
  m.name.resize(h.name_bytes);
  m.text.resize(h.text_bytes);
  Tensor tensor;
  if (h.has_tensor) try {
      const Shape shape(std::span<const int64_t>(h.dims, h.rank));
      if (shape.count() > most_elements) return Received::broken;
      tensor = Tensor::uninitialised(shape, DType(h.dtype));
    } catch (const Error&) {
      return Received::broken;
    }
  const Received received =
      from.read_all({{m.name.data(), m.name.size()}, {m.text.data(), m.text.size()}, {tensor.raw(), tensor.bytes()}});
  m.tensor = std::move(tensor);
  return received;
}

}  // namespace rungs
