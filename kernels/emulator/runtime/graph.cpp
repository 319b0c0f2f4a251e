/// Streams, and graphs made by capturing one. Nothing is ever left to do in a stream, so a stream is only the place
/// where a capture grows, and a graph the list of what was asked for.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "kernels/emulator/engine/dry_run.hpp"
#include "kernels/emulator/runtime/stream.hpp"

/// A graph: its steps in order.
struct CUgraph_st {
  std::vector<std::function<void()>> steps;
};
/// The same, ready to run.
struct CUgraphExec_st {
  std::vector<std::function<void()>> steps;
};
/// A stream.
struct CUstream_st {
  CUgraph_st* capture = nullptr;  // what is being captured
  bool broken = false;            // the capture, by an illegal call
  bool strict = true;             // the capture forbids calls on other streams that could wait for it
};

namespace rungs::emulator {
namespace {

std::mutex mutex;  // guards what follows
std::vector<cudaStream_t> streams, capturing;

bool breaks_captures() {
  const std::lock_guard lock(mutex);
  bool any = false;
  for (const cudaStream_t stream : capturing)
    if (stream->strict) any = stream->broken = true;
  return any;
}

bool known(cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  return !stream || std::find(streams.begin(), streams.end(), stream) != streams.end();
}

cudaError_t unknown_stream(const char* call) {
  return report(cudaErrorInvalidResourceHandle, fmt::format("{}: not a stream, or destroyed already", call));
}

}  // namespace

bool being_captured(cudaStream_t stream) { return stream && known(stream) && stream->capture; }

bool illegal_in_capture(const char* call) {
  if (!breaks_captures()) return false;
  report(cudaErrorStreamCaptureUnsupported, fmt::format("{} while a stream is being captured", call));
  return true;
}

cudaError_t enqueue(const char* call, cudaStream_t stream, std::function<void()> work) {
  if (!known(stream)) return unknown_stream(call);
  if (!stream && breaks_captures())
    return report(
        cudaErrorStreamCaptureImplicit,
        fmt::format("{} on the legacy stream, which waits for all others, while a stream is being captured", call));
  if (being_captured(stream)) {
    stream->capture->steps.push_back(std::move(work));
  } else if (!in_dry_run) {
    work();
  }
  return cudaSuccess;
}

}  // namespace rungs::emulator

using namespace rungs::emulator;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  const std::lock_guard lock(mutex);
  *stream = streams.emplace_back(new CUstream_st);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!stream || !known(stream)) return unknown_stream("cudaStreamDestroy");
  const std::lock_guard lock(mutex);
  std::erase(streams, stream);
  std::erase(capturing, stream);
  delete stream->capture;
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (!known(stream)) return unknown_stream("cudaStreamSynchronize");
  const bool illegal = (!stream || stream->capture) && illegal_in_capture("cudaStreamSynchronize");
  if (illegal) return cudaErrorStreamCaptureUnsupported;
  kernels_ended();
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (!known(stream)) return unknown_stream("cudaStreamBeginCapture");
  if (!stream)
    return report(cudaErrorStreamCaptureUnsupported, "cudaStreamBeginCapture: the legacy stream cannot be captured");
  if (stream->capture)
    return report(cudaErrorIllegalState, "cudaStreamBeginCapture: the stream is being captured already");
  const std::lock_guard lock(mutex);
  stream->capture = new CUgraph_st;
  stream->broken = false;
  stream->strict = mode != cudaStreamCaptureModeRelaxed;
  capturing.push_back(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!known(stream)) return unknown_stream("cudaStreamEndCapture");
  if (!being_captured(stream))
    return report(cudaErrorIllegalState, "cudaStreamEndCapture: the stream is not being captured");
  const std::lock_guard lock(mutex);
  std::erase(capturing, stream);
  CUgraph_st* captured = std::exchange(stream->capture, nullptr);
  if (stream->broken) {
    delete captured;
    return report(cudaErrorStreamCaptureInvalidated, "cudaStreamEndCapture: an illegal call has broken the capture");
  }
  *graph = captured;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (!known(stream)) return unknown_stream("cudaStreamIsCapturing");
  *status = !being_captured(stream) ? cudaStreamCaptureStatusNone
            : stream->broken        ? cudaStreamCaptureStatusInvalidated
                                    : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  if (!graph) return report(cudaErrorInvalidValue, "cudaGraphInstantiate: no graph");
  *executable = new CUgraphExec_st{graph->steps};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (!executable) return report(cudaErrorInvalidValue, "cudaGraphLaunch: no graph");
  kernels_ended();  // a graph begins after what the stream had to do
  for (const auto& step : executable->steps)
    if (const cudaError_t error = enqueue("cudaGraphLaunch", stream, step)) return error;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
