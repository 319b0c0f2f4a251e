#include "rungs/model/rows.hpp"

#include <fmt/format.h>

namespace rungs {

void Batch::add(int32_t of_sequence, std::span<const int32_t> tokens, int64_t start, bool only_last) {
  for (size_t t = 0; t < tokens.size(); ++t) {
    if (!only_last || t + 1 == tokens.size()) logit_rows.push_back(int32_t(token.size()));
    token.push_back(tokens[t]);
    sequence.push_back(of_sequence);
    position.push_back(int32_t(start + int64_t(t)));
  }
}

void Batch::clear() {
  for (auto* list : {&token, &sequence, &position, &logit_rows}) list->clear();
}

static void check(const Batch& batch, const Config& config, const KvCache* cache, int64_t max_rows) {
  const auto fail = [](const std::string& what) { throw UsageError(what); };
  if (batch.rows() == 0) fail("a call needs at least one token");
  if (batch.rows() > max_rows)
    fail(fmt::format("a call of {} rows: this model was loaded for at most {}", batch.rows(), max_rows));
  for (size_t n = 0; n < batch.token.size(); ++n) {
    if (batch.token[n] < 0 || batch.token[n] >= config.vocab_size)
      fail(fmt::format("token id {} at position {} is not in [0, {})", batch.token[n], batch.position[n],
                       config.vocab_size));
    if (batch.position[n] < 0 || batch.position[n] >= config.max_seq_len)
      fail(fmt::format("position {} is outside the model's context of {} tokens", batch.position[n],
                       config.max_seq_len));
    if (cache && (batch.sequence[n] < 0 || batch.sequence[n] >= cache->sequences()))
      fail(fmt::format("sequence {} is not in [0, {})", batch.sequence[n], cache->sequences()));
    const int64_t room = cache ? cache->room(batch.sequence[n]) : config.max_seq_len;
    if (batch.position[n] >= room)
      fail(fmt::format("position {} is outside the cache, which has room for {} tokens", batch.position[n], room));
  }
  for (const int32_t row : batch.logit_rows)
    if (row < 0 || row >= batch.rows())
      fail(fmt::format("logits of row {} are wanted, but the call has {} rows", row, batch.rows()));
}

static void find_segments(std::vector<Segment>& segments, const Batch& batch) {
  segments.clear();
  for (int64_t n = 0; n < batch.rows(); ++n) {
    const int64_t sequence = batch.sequence[size_t(n)], position = batch.position[size_t(n)];
    if (!segments.empty() && segments.back().sequence == sequence &&
        segments.back().past + segments.back().count == position)
      ++segments.back().count;
    else
      segments.push_back({n, 1, sequence, position});
  }
}

/// Each segment's part of its block table.
static void find_blocks(std::vector<Segment>& segments, const KvCache& cache) {
  for (Segment& s : segments) {
    const auto used = size_t((s.past + s.count + cache.capacity() - 1) / cache.capacity());
    s.blocks = std::span(cache.tables[size_t(s.sequence)]).first(used);
    for (const int32_t block : s.blocks)
      if (block < 0 || block >= cache.blocks())
        throw UsageError(fmt::format("block {} of sequence {} is not in [0, {})", block, s.sequence, cache.blocks()));
  }
}

RowsOnDevice::RowsOnDevice(Device& device, int64_t max_rows)
    : max_rows_(max_rows), device_(device.allocate({4 * max_rows}, DType::i32)) {
  host_.reserve(size_t(4 * max_rows));
}

/// Kernels look blocks up where they run.
void RowsOnDevice::bring_tables(Device& device) {
  std::vector<int32_t> first, blocks;
  for (const Segment& s : rows_.segments) {
    first.insert(first.end(), size_t(s.count), int32_t(blocks.size()));
    blocks.insert(blocks.end(), s.blocks.begin(), s.blocks.end());
  }
  const auto N = int64_t(first.size()), count = N + int64_t(blocks.size());
  first.insert(first.end(), blocks.begin(), blocks.end());
  if (!tables_ || tables_.count() < count) tables_ = device.allocate({2 * count}, DType::i32);
  Tensor used = tables_.view_rows(0, count);
  device.upload(used, first.data());
  rows_.first_block = tables_.view_rows(0, N), rows_.block_tables = tables_.view_rows(N, count - N);
}

const Rows& RowsOnDevice::fill(Device& device, const Batch& batch, const Config& config, const KvCache* cache) {
  check(batch, config, cache, max_rows_);
  host_.clear();
  const auto put = [&](Tensor& part, const std::vector<int32_t>& list) {
    part = device_.view_rows(int64_t(host_.size()), int64_t(list.size()));
    host_.insert(host_.end(), list.begin(), list.end());
  };
  put(rows_.token, batch.token);
  put(rows_.sequence, batch.sequence);
  put(rows_.position, batch.position);
  put(rows_.logit_rows, batch.logit_rows);
  Tensor used = device_.view_rows(0, int64_t(host_.size()));
  device.upload(used, host_.data());
  find_segments(rows_.segments, batch);
  rows_.block_tables = Tensor(), rows_.first_block = Tensor();
  if (cache && cache->is_paged()) {
    find_blocks(rows_.segments, *cache);
    if (device_.place() != Place::host) bring_tables(device);
  }
  if (!cache)
    for (const Segment& segment : rows_.segments)
      if (segment.past != 0)
        throw UsageError(
            fmt::format("sequence {} starts at position {}: without a cache the whole sequence must be fed from 0",
                        segment.sequence, segment.past));
  return rows_;
}

}  // namespace rungs
