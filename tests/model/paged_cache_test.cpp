#include <random>

#include "generate/tiny_model.hpp"
#include "ops/expected.hpp"
#include "rungs/model/model.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("model");

/// Blocks of all sequences in a random order, each long enough for `tokens`.
static void deal(KvCache& cache, int64_t tokens, uint64_t seed) {
  std::vector<int32_t> order(size_t(cache.blocks()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = int32_t(i);
  std::mt19937_64 random(seed);
  std::shuffle(order.begin(), order.end(), random);
  for (auto& table : cache.tables)
    while (int64_t(table.size()) * cache.capacity() < tokens) table.push_back(order.back()), order.pop_back();
}

TEST_CASE("a paged cache gives the bits of a contiguous one, for any size of block, dtype and split of the calls") {
  const TinyModel files;
  CpuOps ops;
  const auto model = load_model(ops, files.path, {.max_rows = 40});
  const Config& c = model->config();
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t block_size : {1, 3, 8, 16, 24})
      for (const int64_t chunk : {1, 2, 5, 12}) {
        CAPTURE(block_size);
        CAPTURE(chunk);
        KvCache whole(ops, c, 2, 24, dtype),
            paged(ops, c, 2, {2 * (24 + block_size - 1) / block_size + 2, block_size}, dtype);
        deal(paged, 24, uint64_t(block_size));
        std::vector<int32_t> tokens;
        for (int32_t i = 0; i < 20; ++i) tokens.push_back((i * 7 + 3) % 30);
        for (int64_t at = 0; at < 20; at += chunk) {
          Batch batch;
          for (const int32_t sequence : {0, 1})
            batch.add(sequence, std::span(tokens).subspan(size_t(at), size_t(std::min(chunk, 20 - at))), at, true);
          Tensor one({2, 30}), other({2, 30});
          model->forward(one, batch, &whole);
          model->forward(other, batch, &paged);
          CHECK(values(one) == values(other));
        }
      }
}

TEST_CASE("a block is 16 tokens, more where its keys would be few bytes, and at most an eighth of the context") {
  Config config;
  config.max_seq_len = 4096, config.num_kv_heads = 8, config.head_dim = 128;  // 4 KiB of keys a token
  CHECK(usual_block_size(config) == 16);
  config.num_kv_heads = 2, config.head_dim = 32;  // 256 bytes
  CHECK(usual_block_size(config) == 64);
  CHECK(usual_block_size(config, DType::bf16) == 128);
  config.num_kv_heads = 1, config.head_dim = 2;
  CHECK(usual_block_size(config) == 512);
  config.max_seq_len = 512;
  CHECK(usual_block_size(config) == 64);
  config.max_seq_len = 24;
  CHECK(usual_block_size(config) == 16);
}

TEST_CASE("attention over blocks equals attention over the same keys and values in a row, with heads and a window") {
  CpuOps ops;
  const int64_t H = 6, G = 2, D = 32, S = 300;
  for (const AttentionOptions& options : {AttentionOptions{}, AttentionOptions{.window = 45, .soft_cap = 3}})
    for (const int64_t T : {1, 4, 70})
      for (const int64_t block_size : {7, 16}) {
        const int64_t blocks = (S + block_size - 1) / block_size;
        LayerCache whole{random_tensor({1, S, G, D}, 1), random_tensor({1, S, G, D}, 2)};
        LayerCache paged{Tensor({blocks, block_size, G, D}), Tensor({blocks, block_size, G, D})};
        std::vector<int32_t> table;
        for (int64_t i = 0; i < blocks; ++i) table.push_back(int32_t(blocks - 1 - i));
        for (int64_t s = 0; s < S - T; ++s)
          for (auto [to, from] : {std::pair{&paged.k, &whole.k}, std::pair{&paged.v, &whole.v}}) {
            Tensor block = (*to)[table[size_t(s / block_size)]], row = block.view_rows(s % block_size, 1);
            convert(row, (*from)[0].view_rows(s, 1));
          }
        const Tensor q = random_tensor({T, H, D}, 3), k = random_tensor({T, G, D}, 4), v = random_tensor({T, G, D}, 5);
        Tensor want({T, H, D}), found({T, H, D});
        Rows rows;
        rows.segments = {{0, T, 0, S - T}};
        ops.attention(want, q, k, v, rows, &whole, options);
        rows.segments[0].blocks = table;
        ops.attention(found, q, k, v, rows, &paged, options);
        CHECK(values(found) == values(want));
      }
}

TEST_CASE("a paged cache refuses what it has no block for") {
  const TinyModel files;
  CpuOps ops;
  const auto model = load_model(ops, files.path);
  KvCache cache(ops, model->config(), 2, {4, 8});
  cache.tables[0] = {3};
  Tensor logits({1, 30});
  const auto feed = [&](int32_t sequence, int64_t position) {
    Batch batch;
    batch.add(sequence, std::vector<int32_t>{5}, position, true);
    model->forward(logits, batch, &cache);
  };
  feed(0, 7);
  CHECK_THROWS_WITH_AS(feed(0, 8), "position 8 is outside the cache, which has room for 8 tokens", UsageError);
  CHECK_THROWS_WITH_AS(feed(1, 0), "position 0 is outside the cache, which has room for 0 tokens", UsageError);
  cache.tables[1] = {4};
  CHECK_THROWS_WITH_AS(feed(1, 0), "block 4 of sequence 1 is not in [0, 4)", UsageError);
  CHECK_THROWS_AS(KvCache(ops, model->config(), 2, {0, 8}), UsageError);
}

TEST_SUITE_END();
