/// A LLaMA on one rank and on several threads that are ranks.
#pragma once

#include <mutex>
#include <vector>

#include "rungs/model/llama.hpp"
#include "rungs/model/random_llama.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/parallel/parallel_llama.hpp"
#include "rungs/parallel/split_llama.hpp"
#include "rungs/parallel/thread_ranks.hpp"
#include "support.hpp"

namespace rungs::test {

/// What one rank made of some calls.
struct OfRank {
  std::vector<Tensor> logits;  ///< of each call
  KvCache cache;
  Config config;
  int64_t weight_bytes;
  Traffic traffic;
};

/// One call's logits, on the host.
inline Tensor logits_of_call(Model& model, const Batch& batch, KvCache& cache) {
  Device& device = model.backend().device;
  Tensor logits = device.allocate({int64_t(batch.logit_rows.size()), model.config().vocab_size}), host(logits.shape());
  model.forward(logits, batch, &cache);
  device.download(host.raw(), logits);
  return host;
}

/// Opens the model on every rank and makes the same calls, with a cache of `sequences` times `capacity`. Kind: of
/// backend, of which each rank has its own.
template <class Kind = CpuOps>
std::vector<OfRank> on_ranks(int ranks, const std::filesystem::path& path, const std::vector<Batch>& calls,
                             int64_t sequences, int64_t capacity) {
  std::vector<OfRank> all(static_cast<size_t>(ranks));
  run_ranks(
      ranks,
      [&](Communicator& communicator) {
        use_threads(1);
        Kind ops;
        ParallelLlama model(ops, through_host(ops, communicator), LlamaCheckpoint(path), {.max_rows = 64});
        OfRank& mine = all[size_t(communicator.rank())];
        mine.config = model.config();
        mine.weight_bytes = weight_bytes(model.weights());
        mine.cache = KvCache(ops, model.config(), sequences, capacity);
        for (const Batch& batch : calls) mine.logits.push_back(logits_of_call(model, batch, mine.cache));
        mine.traffic = communicator.traffic();
      },
      60);
  return all;
}

/// The same on one rank, by the model that knows of no ranks.
template <class Kind = CpuOps>
OfRank alone(const std::filesystem::path& path, const std::vector<Batch>& calls, int64_t sequences, int64_t capacity) {
  Kind ops;
  Llama model(ops, path, {.max_rows = 64});
  OfRank one{{}, KvCache(ops, model.config(), sequences, capacity), model.config(), 0, {}};
  for (const Batch& batch : calls) one.logits.push_back(logits_of_call(model, batch, one.cache));
  return one;
}

/// A prompt of two sequences, then steps of both.
inline std::vector<Batch> some_calls(const Config& c) {
  std::mt19937_64 random(7);
  const auto token = [&] { return int32_t(random() % uint64_t(c.vocab_size)); };
  std::vector<Batch> calls(4);
  calls[0].add(0, std::vector{token(), token(), token(), token(), token()}, 0, false);
  calls[0].add(1, std::vector{token(), token(), token()}, 0, true);
  for (int64_t step = 0; step < 3; ++step) {
    calls[size_t(step) + 1].add(0, std::vector{token()}, 5 + step, true);
    if (step < 2) calls[size_t(step) + 1].add(1, std::vector{token()}, 3 + step, true);
  }
  return calls;
}

/// Shapes with more key/value heads than ranks, as many, and fewer.
inline Config random_shape(int64_t heads, int64_t kv_heads, int64_t inner, int64_t vocabulary, bool tied) {
  Config c;
  c.model_type = "llama", c.rotary = c.rms_norm = c.gated = true;
  c.hidden_size = 96, c.num_heads = heads, c.num_kv_heads = kv_heads, c.head_dim = 32, c.intermediate_size = inner;
  c.num_layers = 3, c.vocab_size = vocabulary, c.max_seq_len = 64, c.epsilon = 1e-5f, c.tied = tied;
  c.bos = 1, c.eos = {2};
  return c;
}

}  // namespace rungs::test
