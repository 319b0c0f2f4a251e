#include <string>

#include "08_kv_cache/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/error.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_25 {

bool take(Blocks& blocks, Table& table, int64_t n) {
  std::vector<int32_t> found;
  for (size_t b = 0; b < blocks.holders.size() && int64_t(found.size()) < n; ++b)
    if (blocks.holders[b] == 0) found.push_back(int32_t(b));
  // >>> false where `found` has fewer than n blocks; else each of them gets a holder and goes to the end of the table
  if (int64_t(found.size()) < n) return false;
  for (const int32_t block : found) {
    blocks.holders[size_t(block)] = 1;
    table.push_back(block);
  }
  // <<<
  return true;
}

void release(Blocks& blocks, Table& table) {
  for (const int32_t block : table)
    if (blocks.holders.at(size_t(block)) == 0) throw Error("Block " + std::to_string(block) + " is free already.");
  // >>> each block of the table has one holder less; the table is empty
  for (const int32_t block : table) --blocks.holders[size_t(block)];
  table.clear();
  // <<<
}

bool make_writable(Blocks& blocks, Table& table, int64_t position, int64_t block_size, Tensor& k, Tensor& v) {
  const size_t i = size_t(position / block_size);
  const int32_t old = table[i];
  if (blocks.holders[size_t(old)] == 1) return true;
  Table fresh;
  if (!take(blocks, fresh, 1)) return false;
  // >>> copy the block's rows of k and v from `old` to fresh[0]; table[i] is the copy; `old` has one holder less
  for (Tensor* rows : {&k, &v})
    std::copy_n(rows->data() + old * block_size * rows->dim(1), block_size * rows->dim(1),
                rows->data() + fresh[0] * block_size * rows->dim(1));
  table[i] = fresh[0];
  --blocks.holders[size_t(old)];
  // <<<
  return true;
}

int64_t row_of(const Table& table, int64_t position, int64_t block_size) {
  int64_t row = 0;
  // >>> the block of this position, from the table, and the row within the block
  row = table[size_t(position / block_size)] * block_size + position % block_size;
  // <<<
  return row;
}

void attend(Tensor& out, const Tensor& q, const Tensor& new_k, const Tensor& new_v, Tensor& k, Tensor& v,
            const Table& table, int64_t start_pos, int64_t block_size) {
  const int64_t T = q.dim(0), D = q.dim(1), S = start_pos + T;
  // >>> write new_k[t] and new_v[t] into the rows of k and v of position start_pos + t
  for (int64_t t = 0; t < T; ++t) {
    const int64_t row = row_of(table, start_pos + t, block_size);
    std::copy_n(new_k.data() + t * D, D, k.data() + row * D);
    std::copy_n(new_v.data() + t * D, D, v.data() + row * D);
  }
  // <<<

  Tensor keys, values;  // (S, D): of every token so far, in the order of their positions
  // >>> keys and values: (S, D), row p from the cache's row of position p
  keys = Tensor({S, D}), values = Tensor({S, D});
  for (int64_t p = 0; p < S; ++p) {
    const int64_t row = row_of(table, p, block_size);
    std::copy_n(k.data() + row * D, D, keys.data() + p * D);
    std::copy_n(v.data() + row * D, D, values.data() + p * D);
  }
  // <<<
  tap("keys", keys), tap("values", values);
  lesson_08::sdpa(out, q, keys, values);
}

int64_t newest(const std::vector<Request>& requests) {
  int64_t found = -1;
  // >>> found: the last request whose table is not empty
  for (size_t i = 0; i < requests.size(); ++i)
    if (!requests[i].table.empty()) found = int64_t(i);
  // <<<
  return found;
}

void preempt(Blocks& blocks, Request& request) {
  // >>> its blocks are given back, and none of its tokens is computed any more; what was drawn stays
  release(blocks, request.table);
  request.computed = 0;
  // <<<
}

/// The table holds `missing` blocks more. False where the request has to wait.
/// \throws Error where a preempted request gives no block back: this would never end
static bool reserve(std::vector<Request>& requests, int64_t i, int64_t missing, Blocks& blocks) {
  while (!take(blocks, requests[size_t(i)].table, missing)) {
    const int64_t victim = newest(requests);
    if (victim < i) return false;  // older requests keep their blocks
    Request& last = requests.at(size_t(victim));
    const size_t held = last.table.size();
    preempt(blocks, last);
    if (victim == i) return false;
    if (last.table.size() >= held)
      throw Error("Request " + std::to_string(last.id) + " was preempted and gave no block back.");
  }
  return true;
}

std::vector<Piece> plan(std::vector<Request>& requests, Blocks& blocks, int64_t block_size, int64_t budget) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < requests.size() && budget > 0; ++i) {
    const Request& r = requests[i];
    int64_t count = 0, missing = 0;
    // >>> count: the tokens of r that are not computed yet, at most `budget`
    count = std::min(r.tokens - r.computed, budget);
    // <<<
    // >>> missing: blocks for all tokens up to this chunk's last (the last block may be part full), less those it has
    missing = (r.computed + count + block_size - 1) / block_size - int64_t(r.table.size());
    // <<<
    if (missing > 0 && !reserve(requests, int64_t(i), missing, blocks)) break;
    // >>> append the piece, which starts at what is computed; it uses up budget
    pieces.push_back({int64_t(i), r.computed, count});
    budget -= count;
    // <<<
  }
  return pieces;
}

std::vector<uint32_t> block_hashes(const std::vector<int32_t>& tokens, int64_t block_size) {
  std::vector<uint32_t> hashes;
  uint32_t hash = hash_start;
  // >>> for each whole block: mix its tokens into `hash`, which stands for all tokens before them; append the result
  for (int64_t end = block_size; end <= int64_t(tokens.size()); end += block_size) {
    for (int64_t t = end - block_size; t < end; ++t) hash = mix(hash, tokens[size_t(t)]);
    hashes.push_back(hash);
  }
  // <<<
  return hashes;
}

int64_t share_prefix(Blocks& blocks, Table& table, const std::vector<int32_t>& tokens, const Index& index,
                     int64_t block_size) {
  const std::vector<uint32_t> hashes = block_hashes(tokens, block_size);
  int64_t most = 0;
  // >>> most: how many blocks may be shared, so that at least the last token is left to compute
  most = (int64_t(tokens.size()) - 1) / block_size;
  // <<<
  // >>> block by block, as long as the index has the hash: its block goes to the end of the table, with a holder more
  for (int64_t i = 0; i < most; ++i) {
    const auto known = index.find(hashes[size_t(i)]);
    if (known == index.end()) break;
    table.push_back(known->second);
    ++blocks.holders[size_t(known->second)];
  }
  // <<<
  return int64_t(table.size()) * block_size;
}

}  // namespace lesson_25
