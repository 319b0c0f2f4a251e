#include "rungs/batching/block_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "rungs/base/error.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("batching");

using Tokens = std::vector<int32_t>;

TEST_CASE("blocks are taken all or none, and none is given back twice") {
  BlockPool pool(4);
  const auto three = pool.take(3);
  CHECK(three.size() == 3);
  CHECK(pool.take(2).empty());
  CHECK(pool.free() == 1);
  pool.share(three[0]);
  pool.give_back(three[0]);
  CHECK(pool.free() == 1);
  pool.give_back(three[0]);
  CHECK(pool.free() == 2);
  const std::string twice = fmt::format("block {} is given back, but it is free already", three[0]);
  CHECK_THROWS_WITH_AS(pool.give_back(three[0]), twice.c_str(), Error);
  CHECK_THROWS_AS(pool.share(three[0]), Error);
  CHECK_THROWS_AS(BlockPool(0), UsageError);
}

TEST_CASE("a block is found by its tokens and by all tokens before them, also where all hashes are equal") {
  for (const int hash_bits : {64, 0}) {
    BlockPool pool(4, hash_bits);
    const auto blocks = pool.take(2);
    const auto first = pool.publish(blocks[0], BlockPool::start, Tokens{1, 2});
    const auto second = pool.publish(blocks[1], first, Tokens{3, 4});
    CHECK(!pool.find(BlockPool::start, Tokens{3, 4}));
    CHECK(!pool.find(first, Tokens{1, 2}));
    CHECK(!pool.find(BlockPool::start, Tokens{1, 3}));
    CHECK(pool.find(BlockPool::start, Tokens{1, 2}) == std::pair(blocks[0], first));
    CHECK(pool.find(first, Tokens{3, 4}) == std::pair(blocks[1], second));
    CHECK(pool.holders(blocks[1]) == 2);
    CHECK(!pool.writable(blocks[1]));
    CHECK(pool.findable(blocks[1]));
    // The same contents in a third block: the first one stays the one that is found.
    const auto third = pool.take(1);
    CHECK(pool.publish(third[0], BlockPool::start, Tokens{1, 2}) == first);
    CHECK(pool.writable(third[0]));
    pool.give_back(blocks[1]);
    pool.withdraw(blocks[1]);
    CHECK(pool.writable(blocks[1]));
    CHECK(!pool.findable(blocks[1]));
    CHECK(!pool.find(first, Tokens{3, 4}));
  }
}

TEST_CASE("a free block keeps its contents until its memory is needed, the longest unused first") {
  BlockPool pool(3);
  const auto blocks = pool.take(3);
  for (const int32_t block : blocks) pool.publish(block, BlockPool::start, Tokens{block});
  pool.give_back(blocks[1]), pool.give_back(blocks[0]), pool.give_back(blocks[2]);
  CHECK(pool.free() == 3);
  CHECK(pool.find(BlockPool::start, Tokens{blocks[1]}));  // used again
  CHECK(pool.free() == 2);
  CHECK(pool.take(1) == Tokens{blocks[0]});
  CHECK(!pool.find(BlockPool::start, Tokens{blocks[0]}));
  CHECK(pool.find(BlockPool::start, Tokens{blocks[2]}));
  CHECK(pool.free() == 0);
}

TEST_CASE("after any order of operations every block is held as often as it was taken") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    BlockPool pool(1 + int64_t(random() % 8));
    std::vector<int32_t> held;
    for (int i = 0; i < 60; ++i) {
      const Tokens tokens = {int32_t(random() % 3)};
      switch (random() % 4) {
        case 0:
          for (const int32_t block : pool.take(1 + int64_t(random() % 3))) held.push_back(block);
          break;
        case 1:
          if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            pool.give_back(held.back());
            held.pop_back();
          }
          break;
        case 2:
          if (!held.empty() && pool.writable(held.back())) pool.publish(held.back(), random() % 2, tokens);
          break;
        default:
          if (const auto found = pool.find(random() % 2, tokens)) held.push_back(found->first);
      }
      int64_t free = 0;
      for (int32_t block = 0; block < pool.blocks(); ++block) {
        CHECK(pool.holders(block) == std::count(held.begin(), held.end(), block));
        free += pool.holders(block) == 0;
      }
      CHECK(pool.free() == free);
    }
  }
}

TEST_SUITE_END();
