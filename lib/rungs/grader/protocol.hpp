/// What the grader and the runner process say to each other over two pipes.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// One message. Whoever reads it does not trust it: sizes are checked before use.
struct Message {
  enum Kind : char {
    input = 'I',        ///< a tensor of the case
    go = 'C',           ///< name: run the case of this name; text: function, model
    tap = 'T',          ///< a tap
    output = 'O',       ///< an output
    done = 'D',         ///< number: rows through ops.linear
    not_written = 'N',  ///< text: the step
    threw = 'E',        ///< text: what it said; name: the calls that led there; number: 1 for no std::exception
  };
  Kind kind{};
  std::string name, text;
  int64_t number = 0;
  ConstTensor tensor;
};

/// With this status a runner ends that can no longer write to the grader.
inline constexpr int lost_the_grader = 97;

/// When to stop waiting; never, when there is none.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// False when the other side is gone, or did not read in time. With a deadline `fd` must not block.
bool send(int fd, const Message& message, Deadline until = {});

/// How waiting for a message ended: the other side closed its end, was too slow, or sent what is no message.
enum class Received { message, end, too_late, broken };

/// Waits for a message. It is the end, too, when the process behind `pidfd` is gone and nothing is left to read:
/// a child of it may still hold the pipe. With a deadline or a pidfd `fd` must not block.
Received receive(int fd, Message& message, Deadline until = {}, int pidfd = -1);

}  // namespace rungs
