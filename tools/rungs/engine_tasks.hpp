/// What an engine is measured by, and how long this library takes for it: `rungs bench engine` and `bench peers`.
#pragma once

#include <string>
#include <vector>

#include "rungs/analysis/roofline.hpp"
#include "rungs/model/model.hpp"
#include "rungs/ops/cpu_ops.hpp"

namespace rungs {

/// One call of a model: a token, a batch, a prompt.
struct EngineTask {
  enum class Kind { decode, batch, prompt } kind;
  Call call;
  int threads;

  std::string name() const;                                         ///< "prompt of 60"
  double tokens() const { return double(call.batch * call.rows); }  ///< that the call takes in
};

/// Decoding with one thread and with all, batches of 2 to 16, prompts of 13 to 512, and a token far into the context,
/// as far as the model knows one. \param threads  at most
std::vector<EngineTask> engine_tasks(const Config& config, int threads);

/// A model on this library's CPU, with room for every task.
class EngineBench {
 public:
  /// `cache` is the dtype of its KV caches. \throws UsageError for a model that is no LLaMA; FileError
  EngineBench(const std::filesystem::path& model, int threads, DType cache);

  const std::vector<EngineTask>& tasks() const { return tasks_; }
  /// Seconds of a call, the median of those that fit in about half a second.
  double seconds(const EngineTask& task);
  /// Seconds that the call takes at least, if each operation is bound by memory or by f32 products.
  /// \param bandwidth  bytes a second
  double least_seconds(const EngineTask& task, double bandwidth);
  const Model& model() const { return *model_; }

 private:
  CpuOps ops_;
  std::vector<EngineTask> tasks_;
  std::unique_ptr<Model> model_;
  KvCache short_, long_;  // of 16 sequences, and of one
  Tensor logits_;
  double weight_bytes_ = 0;    // of an element, over all that a call reads
  double cache_bytes_ = 0;     // of an element
  std::vector<double> peaks_;  // FLOP/s by threads - 1; 0: not measured yet
};

}  // namespace rungs
