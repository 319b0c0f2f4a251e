/// The few kinds of error. Each carries one sentence: what is wrong, what was wanted, what was found, what to do.
#pragma once

#include <stdexcept>

namespace rungs {

/// Everything that Rungs throws on purpose. The command line ends with status 1 for it.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes, dtypes or indices that do not fit together.
struct ShapeError : Error {
  using Error::Error;
};

/// A value that a caller or a user gave is not usable. The command line ends with status 2.
struct UsageError : Error {
  using Error::Error;
};

/// A file is missing, broken, or not what it claims to be. The command line ends with status 3.
struct FileError : Error {
  using Error::Error;
};

/// A call of the CUDA runtime, a launch or a kernel failed.
struct CudaError : Error {
  using Error::Error;
};

/// A part of a lesson that the learner has not written yet.
struct NotWritten : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Stands where a learner's code belongs. \throws NotWritten always.
[[noreturn]] inline void not_written(const char* step) { throw NotWritten(step); }

}  // namespace rungs
