/// Streams and what they note while they are captured. Inside of the engine.
#pragma once

#include <functional>
#include <string>

#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/runtime/runtime_api.hpp"

namespace rungs::emulator {

/// Does `work` now, or notes it when the stream is being captured, or neither in a dry run. Its arguments are in it as
/// they are now, so that a value that changes later is as stale in a graph as on a GPU. \returns an error when the
/// legacy stream gets work during a capture, which a GPU forbids.
cudaError_t enqueue(const char* call, cudaStream_t stream, std::function<void()> work);

bool being_captured(cudaStream_t stream);

/// Whether some stream is being captured, so that `call`, which waits for everything or changes memory, is illegal.
/// Then the error is set and the capture is broken.
bool illegal_in_capture(const char* call);

/// Tells the checker that whatever follows comes after the end of the kernels so far: the host or the stream waits.
inline void kernels_ended() {
#ifdef RUNGS_CHECKED
  checked_kernels_ended();
#endif
}

/// Sets this OS thread's last error and what cudaGetErrorString says of it; gives `error`.
cudaError_t report(cudaError_t error, std::string text);

}  // namespace rungs::emulator
