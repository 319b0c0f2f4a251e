#include "batch_prediction.hpp"

#include "rungs/analysis/memory.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/memory_estimate.hpp"

namespace rungs {

GenerateOptions BatchRun::options() const {
  GenerateOptions options;
  options.sampling.temperature = 0;  // the largest logit, which takes no time and no memory to find
  options.max_tokens = output;
  options.cache = cache;
  options.context = input + output;
  return options;
}

LoadOptions BatchRun::plan() const {
  const std::vector<int64_t> lengths(size_t(batch), input);
  return plan_load(lengths, options(), input + output);
}

WeightsInfo weights_of(const Config& config) {
  const TensorSet set = open_weights(config);
  WeightsInfo info;
  size_t largest = 0;
  for (const std::string& name : set.names()) {
    const Tensor& tensor = set.get(name);
    info.bytes += int64_t(tensor.bytes());
    if (tensor.bytes() > largest) largest = tensor.bytes(), info.dtype = tensor.dtype();
  }
  info.predicted = count_parameters(config).total() * int64_t(bytes_of(info.dtype));
  return info;
}

PredictedMemory predict_memory(const Config& config, const BatchRun& run, const WeightsInfo& weights,
                               const DeviceChoice& device) {
  const LoadOptions plan = run.plan();
  const int64_t context = run.input + run.output;
  const MemoryEstimate f = memory_estimate(config, run.batch, context, plan.max_rows);
  PredictedMemory m{weights.predicted, run.cache ? f.cache : 0, f.rope_tables, f.scratch, 0};
  if (device.backend == "cpu") {
    m.workspace = cpu_workspace(config, run.batch, context, plan.max_rows, weights.dtype);
  } else {
    m.workspace = f.scratch;  // what the kernels of a device keep between them is about as much again
    if (device.on == "emulator")
      m.workspace += m.weights + m.rope_tables;  // in the file, and on the device that is no device
  }
  return m;
}

std::vector<Call> calls_of(const BatchRun& run) {
  const int64_t most = run.plan().max_rows;
  std::vector<Call> calls;
  const auto feed = [&](int64_t rows) {  // sequences from their beginning, as many a call as fit
    const int64_t together = std::max<int64_t>(1, most / rows);
    for (int64_t first = 0; first < run.batch; first += together)
      for (int64_t past = 0; past < rows; past += most)
        calls.push_back({std::min(together, run.batch - first), std::min(rows - past, most), past});
  };
  feed(run.input);
  for (int64_t step = 1; step < run.output; ++step) {
    if (run.cache)
      calls.push_back({run.batch, 1, run.input + step - 1});
    else
      feed(run.input + step);
  }
  return calls;
}

double predict_seconds(const Config& config, const BatchRun& run, DType weights, const DevicePeak& roof) {
  const ElementBytes bytes{double(bytes_of(weights)), 4, 4};
  double seconds = 0;
  for (const Call& call : calls_of(run))
    for (const Operation& operation : operations(config, call, bytes)) seconds += roof.seconds(operation.cost);
  return seconds;
}

}  // namespace rungs
