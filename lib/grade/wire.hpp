/// What the grader and the runner process say to each other over two pipes.
#pragma once

#include <optional>
#include <string>

#include "tensor/tensor.hpp"

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
    threw = 'E',        ///< text: what it said
  };
  Kind kind{};
  std::string name, text;
  int64_t number = 0;
  Tensor tensor;
};

/// False when the other side is gone.
bool send(int fd, const Message& message);

enum class Received { message, end, too_late, broken };

/// Waits for a message for up to `milliseconds` (forever when negative).
Received receive(int fd, Message& message, int milliseconds = -1);

}  // namespace rungs
