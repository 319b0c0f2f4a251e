#include "rungs/model/rows.hpp"

#include "rungs/ops/cpu_ops.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("model");

using Tokens = std::vector<int32_t>;

static Config small_config() {
  Config c;
  c.max_seq_len = 10, c.hidden_size = 4, c.head_dim = 2, c.intermediate_size = 6, c.num_layers = 1, c.vocab_size = 5;
  return c;
}

TEST_CASE("a batch lists its rows, and the logits that are wanted") {
  Batch batch;
  batch.add(0, Tokens{4, 3, 2}, 0, true);
  batch.add(2, Tokens{1, 0}, 7, false);
  CHECK(batch.token == Tokens{4, 3, 2, 1, 0});
  CHECK(batch.sequence == Tokens{0, 0, 0, 2, 2});
  CHECK(batch.position == Tokens{0, 1, 2, 7, 8});
  CHECK(batch.logit_rows == Tokens{2, 3, 4});
  batch.clear();
  CHECK(batch.rows() == 0);
  CHECK(batch.logit_rows.empty());
}

TEST_CASE("rows that follow each other become one run") {
  CpuOps ops;
  RowsOnDevice room(ops, 8);
  const Config config = small_config();
  KvCache cache(ops, config, 3, 10);
  Batch batch;
  batch.add(1, Tokens{1, 2}, 3, false);
  batch.add(1, Tokens{3}, 5, false);  // goes on
  batch.add(0, Tokens{4, 0}, 0, true);
  batch.add(0, Tokens{1}, 5, true);  // leaves a gap
  const Rows& rows = room.fill(ops, batch, config, &cache);
  REQUIRE(rows.segments.size() == 3);
  for (const auto& [segment, first, count, sequence, start] :
       {std::tuple{rows.segments[0], 0, 3, 1, 3}, std::tuple{rows.segments[1], 3, 2, 0, 0},
        std::tuple{rows.segments[2], 5, 1, 0, 5}}) {
    CHECK(segment.first == first);
    CHECK(segment.count == count);
    CHECK(segment.sequence == sequence);
    CHECK(segment.past == start);
  }
  CHECK(values(rows.token) == std::vector<double>{1, 2, 3, 4, 0, 1});
  CHECK(values(rows.position) == std::vector<double>{3, 4, 5, 0, 1, 5});
  CHECK(values(rows.logit_rows) == std::vector<double>{0, 1, 2, 4, 5});
}

TEST_CASE("a batch that cannot be served is refused with a sentence") {
  CpuOps ops;
  RowsOnDevice room(ops, 8);
  const Config config = small_config();
  KvCache cache(ops, config, 2, 6);
  const auto refused = [&](int32_t sequence, const Tokens& tokens, int64_t start, const KvCache* with,
                           const char* sentence) {
    Batch batch;
    batch.add(sequence, tokens, start, false);
    CHECK_THROWS_WITH_AS(room.fill(ops, batch, config, with), sentence, UsageError);
  };
  refused(0, {}, 0, &cache, "a call needs at least one token");
  refused(0, Tokens(9, 1), 0, nullptr, "a call of 9 rows: this model was loaded for at most 8");
  refused(0, {1, 5}, 0, &cache, "token id 5 at position 1 is not in [0, 5)");
  refused(0, {-1}, 0, &cache, "token id -1 at position 0 is not in [0, 5)");
  refused(0, {1}, -1, &cache, "position -1 is outside the model's context of 10 tokens");
  refused(0, {1, 1}, 9, &cache, "position 9 is outside the cache, which has room for 6 tokens");
  refused(0, {1}, 10, &cache, "position 10 is outside the model's context of 10 tokens");
  refused(2, {1}, 0, &cache, "sequence 2 is not in [0, 2)");
  refused(-1, {1}, 0, &cache, "sequence -1 is not in [0, 2)");
  refused(0, {1}, 3, nullptr, "sequence 0 starts at position 3: without a cache the whole sequence must be fed from 0");

  Batch batch;
  batch.add(0, Tokens{1}, 0, false);
  batch.logit_rows = {1};
  CHECK_THROWS_WITH_AS(room.fill(ops, batch, config, &cache), "logits of row 1 are wanted, but the call has 1 rows",
                       UsageError);
}

TEST_SUITE_END();
