/// Many requests on one model: the scheduler decides, the model computes, every request draws with its own seed.
#pragma once

#include <functional>

#include "rungs/batching/scheduler.hpp"
#include "rungs/model/model.hpp"

namespace rungs {

/// A token that a step drew.
struct DrawnToken {
  int64_t id;  ///< of the request
  int32_t token;
  Finish finish;  ///< other than `no`: the request has ended
};

/// What the steps did so far.
struct BatchStats {
  int64_t steps = 0, rows = 0, drawn = 0, copies = 0;
  double seconds = 0;            ///< of all steps
  double scheduler_seconds = 0;  ///< of them, before the model ran and after it, without drawing
};

/// Serves requests in steps. Each request gets the text that it would get alone.
class BatchEngine {
 public:
  using OnLogits = std::function<void(int64_t id, int64_t position, std::span<const float> logits)>;

  /// The cache is allocated here. options.context 0: the model's. \throws UsageError for options out of range, or a
  /// model that was loaded for fewer rows than a step feeds; for a device other than the CPU.
  BatchEngine(Model& model, BatchingOptions options, DType cache_dtype = DType::f32);

  /// As Scheduler::submit; UsageError also for a token outside the vocabulary and for sampling options out of range.
  int64_t submit(Request request);
  /// As Scheduler::cancel.
  bool cancel(int64_t id) { return scheduler_.cancel(id); }
  bool idle() const { return scheduler_.requests().empty(); }
  /// One call of the model. Returns what was drawn; `on_logits` sees from which logits. \throws Error where the model
  /// fails: the requests stay, and blocks taken for this step are given back. std::bad_alloc: this engine is of no more
  /// use, the model is.
  std::vector<DrawnToken> step(const OnLogits& on_logits = {});

  const Scheduler& scheduler() const { return scheduler_; }
  const BatchStats& stats() const { return stats_; }
  /// Bytes of the cache.
  int64_t cache_bytes() const;

 private:
  void run(const Plan& plan, int64_t draws);

  Model& model_;
  Scheduler scheduler_;
  KvCache cache_;
  Batch batch_;
  Tensor logits_;            // (max_running, V)
  std::vector<float> host_;  // the same
  BatchStats stats_;
};

}  // namespace rungs
