/// Checks a batch and brings its rows to the device.
#pragma once

#include "rungs/model/batch.hpp"
#include "rungs/model/cache.hpp"
#include "rungs/model/config.hpp"
#include "rungs/ops/device.hpp"

namespace rungs {

/// Room for the rows of one call; planned once, filled by every call.
class RowsOnDevice {
 public:
  RowsOnDevice(Device& device, int64_t max_rows);
  /// Views of the device's memory that hold this batch, until the next call. \throws UsageError as Model::forward says.
  const Rows& fill(Device& device, const Batch& batch, const Config& config, const KvCache* cache);

 private:
  void bring_tables(Device& device);

  int64_t max_rows_;
  Tensor device_;              // (4 · max_rows) i32: token, sequence, position, logit_rows of this call, without gaps
  std::vector<int32_t> host_;  // the same, so that one copy brings them all
  Tensor tables_;              // room for first_block and block_tables of a paged cache on a GPU
  Rows rows_;
};

}  // namespace rungs
