#include "grade/wire.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace rungs {

namespace {

using Clock = std::chrono::steady_clock;

/// The fixed part of a message; name, text and tensor data follow.
struct Header {
  char kind;
  uint8_t dtype, rank, has_tensor;
  uint32_t name_bytes, text_bytes;
  int64_t number;
  int64_t dims[Shape::max_rank];
};

constexpr uint32_t most_text = 1 << 16;
constexpr int64_t most_elements = int64_t(1) << 26;

bool write_all(int fd, const void* data, size_t bytes) {
  for (const char* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t n = ::write(fd, at, bytes);
    if (n <= 0) return false;
    at += n, bytes -= size_t(n);
  }
  return true;
}

Received read_all(int fd, void* data, size_t bytes, std::optional<Clock::time_point> until) {
  for (char* at = static_cast<char*>(data); bytes > 0;) {
    if (until) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*until - Clock::now()).count();
      pollfd ready{fd, POLLIN, 0};
      if (poll(&ready, 1, int(std::max<int64_t>(0, left))) == 0) return Received::too_late;
    }
    const ssize_t n = ::read(fd, at, bytes);
    if (n <= 0) return Received::end;
    at += n, bytes -= size_t(n);
  }
  return Received::message;
}

}  // namespace

bool send(int fd, const Message& m) {
  Header h{};
  h.kind = m.kind;
  h.name_bytes = uint32_t(std::min<size_t>(m.name.size(), most_text));
  h.text_bytes = uint32_t(std::min<size_t>(m.text.size(), most_text));
  h.number = m.number;
  h.has_tensor = bool(m.tensor);
  h.dtype = uint8_t(m.tensor.dtype());
  h.rank = uint8_t(m.tensor.shape().rank());
  for (int d = 0; d < h.rank; ++d) h.dims[d] = m.tensor.dim(d);
  return write_all(fd, &h, sizeof h) && write_all(fd, m.name.data(), h.name_bytes) &&
         write_all(fd, m.text.data(), h.text_bytes) && write_all(fd, m.tensor.raw(), m.tensor.bytes());
}

Received receive(int fd, Message& m, int milliseconds) {
  std::optional<Clock::time_point> until;
  if (milliseconds >= 0) until = Clock::now() + std::chrono::milliseconds(milliseconds);
  Header h{};
  if (const Received r = read_all(fd, &h, sizeof h, until); r != Received::message) return r;
  if (h.name_bytes > most_text || h.text_bytes > most_text || h.rank > Shape::max_rank || h.dtype > uint8_t(DType::i64))
    return Received::broken;
  m = {};
  m.kind = Message::Kind(h.kind);
  m.number = h.number;
  m.name.resize(h.name_bytes);
  m.text.resize(h.text_bytes);
  if (const Received r = read_all(fd, m.name.data(), m.name.size(), until); r != Received::message) return r;
  if (const Received r = read_all(fd, m.text.data(), m.text.size(), until); r != Received::message) return r;
  if (!h.has_tensor) return Received::message;
  try {
    const Shape shape(std::span<const int64_t>(h.dims, h.rank));
    if (shape.count() > most_elements) return Received::broken;
    m.tensor = Tensor::uninitialised(shape, DType(h.dtype));
  } catch (const Error&) {
    return Received::broken;
  }
  return read_all(fd, m.tensor.raw(), m.tensor.bytes(), until);
}

}  // namespace rungs
