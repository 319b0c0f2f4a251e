/// What every model can do: turn the tokens of a batch into logits.
#pragma once

#include <filesystem>
#include <memory>

#include "rungs/model/batch.hpp"
#include "rungs/model/cache.hpp"
#include "rungs/model/config.hpp"
#include "rungs/ops/backend.hpp"

namespace rungs {

/// A decoder with its weights and its scratch memory on one device.
class Model {
 public:
  virtual ~Model() = default;
  virtual const Config& config() const = 0;
  virtual const Backend& backend() const = 0;
  /// The most rows that one call may have; scratch memory was planned for it.
  virtual int64_t max_rows() const = 0;
  /// logits (M, V) on the device: one row for each of batch.logit_rows. With a cache the batch's rows are added to it
  /// and the past is read from it; without, every sequence must start at position 0. Allocates nothing for a batch of
  /// one row. \throws UsageError for a token outside the vocabulary, a position outside the context or the cache, more
  /// rows than max_rows.
  virtual void forward(Tensor& logits, const Batch& batch, KvCache* cache) = 0;
  /// Block `to` of a paged cache = block `from`, wherever parts of the cache are.
  virtual void copy_block(KvCache& cache, int32_t to, int32_t from) { cache.copy_block(backend().ops, to, from); }
};

/// How much memory a model may plan for.
struct LoadOptions {
  int64_t max_rows = 0;  ///< the rows of the largest call; 0: the whole context
  int64_t context = 0;   ///< positions that will be used; 0: as many as the model knows
  /// Sequences that will be cached, each of up to `capacity` tokens: a device with too little memory for them is found
  /// out before anything is loaded.
  int64_t sequences = 0, capacity = 0;
};

/// The model in a directory: a decoder of part I or a LLaMA, as its config.json says; or in a .bin file of llama2.c.
/// \throws FileError; UsageError for a context that the model does not have; Error for a device with too little memory.
std::unique_ptr<Model> load_model(const Backend& backend, const std::filesystem::path& directory_or_bin,
                                  const LoadOptions& options = {});

}  // namespace rungs
