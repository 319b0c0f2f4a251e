/// How a kernel's launch reaches the engine: its arguments in one object, and a function that calls the kernel with
/// them.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "kernels/emulator/language/vector_types.hpp"

using cudaStream_t = struct CUstream_st*;

namespace rungs::emulator {

/// A launch, its kernel's type forgotten.
struct Launch {
  const void* kernel;
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
  bool overlap;           ///< its threads must wait for the kernels before it: cudaGridDependencySynchronize()
  const void* arguments;  ///< a Call<P...>, alive until launch() returns
  size_t argument_bytes;
  void (*call)(const void* arguments);                         ///< runs one thread
  std::shared_ptr<const void> (*copy)(const void* arguments);  ///< for a graph, which is launched later
};

/// A kernel and its arguments. They are copied for each thread when the kernel is called, as a GPU does.
template <class... P>
struct Call {
  void (*kernel)(P...);
  std::tuple<P...> arguments;

  /// No std::apply: a debugger would show its frames below every kernel.
  template <size_t... I>
  RUNGS_UNSEEN static void run(const Call& call, std::index_sequence<I...>) {
    call.kernel(std::get<I>(call.arguments)...);
  }
  RUNGS_UNSEEN static void run(const void* call) {
    run(*static_cast<const Call*>(call), std::index_sequence_for<P...>());
  }
  static std::shared_ptr<const void> copy(const void* call) {
    return std::make_shared<Call>(*static_cast<const Call*>(call));
  }
};

}  // namespace rungs::emulator
