#include "rungs/parallel/communicator.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "rungs/parallel/thread_ranks.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("parallel");

namespace {

/// Element i of rank r's numbers.
float number(int r, int64_t i) { return float(std::sin(double(r * 1000 + i))) * std::ldexp(1.0f, (r * 7) % 5); }

std::vector<float> numbers_of(int r, int64_t n) {
  std::vector<float> x(size_t(n), 0.0f);
  for (int64_t i = 0; i < n; ++i) x[size_t(i)] = number(r, i);
  return x;
}

}  // namespace

TEST_CASE("all_reduce adds from rank 0 up: every rank has the same bits, and has sent what was predicted") {
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const int64_t n : {0, 1, 2, 7, 8, 64, 1000}) {
      std::vector<float> want = numbers_of(0, n);
      for (int r = 1; r < ranks; ++r)
        for (int64_t i = 0; i < n; ++i) want[size_t(i)] += number(r, i);
      run_ranks(ranks, [&](Communicator& c) {
        std::vector<float> x = numbers_of(c.rank(), n);
        c.all_reduce(x);
        if (x != want) throw Error(fmt::format("rank {} of {}: another sum of {} numbers", c.rank(), ranks, n));
        const Traffic sent{.all_reduces = 1, .bytes_sent = all_reduce_bytes(n, c.rank(), ranks)};
        if (c.traffic() != sent) throw Error(fmt::format("rank {} sent {} bytes", c.rank(), c.traffic().bytes_sent));
      });
      int64_t all = 0;
      for (int r = 0; r < ranks; ++r) all += all_reduce_bytes(n, r, ranks);
      CHECK(all == 2 * (ranks - 1) * n * 4);
    }
}

TEST_CASE("all_gather puts the ranks' parts one after the other, and broadcast gives everyone those of its root") {
  for (const int ranks : {1, 2, 3, 5})
    run_ranks(ranks, [&](Communicator& c) {
      const std::vector<float> mine = numbers_of(c.rank(), 6);
      std::vector<float> all(size_t(6 * ranks));
      c.all_gather(all, mine);
      for (int r = 0; r < ranks; ++r)
        for (int64_t i = 0; i < 6; ++i)
          if (all[size_t(6 * r + i)] != number(r, i)) throw Error("all_gather: another number");
      for (int root = 0; root < ranks; ++root) {
        std::vector<float> x = numbers_of(c.rank(), 3);
        c.broadcast(std::as_writable_bytes(std::span(x)), root);
        if (x != numbers_of(root, 3)) throw Error("broadcast: another number");
      }
      if (c.traffic().all_gathers != 1 || c.traffic().broadcasts != ranks) throw Error("calls were counted wrongly");
      if (c.traffic().bytes_sent != (ranks - 1) * (6 * 4 + 3 * 4)) throw Error("bytes were counted wrongly");
    });
}

TEST_CASE("a rank that throws ends the others with its sentence, and run_ranks throws what it threw") {
  std::atomic<int> told = 0;
  const auto work = [&](Communicator& c) {
    std::vector<float> x(8, 1.0f);
    if (c.rank() == 2) {
      c.all_reduce(x);
      throw FileError("a.bin: cannot be opened");
    }
    try {  // some may hear of it at the end of the first
      c.all_reduce(x);
      c.all_reduce(x);
    } catch (const RankLost& e) {
      if (e.rank == 2 && e.what() == std::string("rank 2: a.bin: cannot be opened")) ++told;
      throw;
    }
  };
  CHECK_THROWS_WITH_AS(run_ranks(4, work), "a.bin: cannot be opened", FileError);
  CHECK(told == 3);
}

// A late rank must not read what the others sent: with them, those bytes may be gone.
TEST_CASE("a rank that does not answer is named, the others end, and it hears so before it reads what they sent") {
  std::atomic<bool> given_up = false, late_ended = false;
  std::string late_heard;
  const auto work = [&](Communicator& c) {
    if (c.rank() == 1)
      while (!given_up) std::this_thread::yield();
    try {
      std::vector<float> x(8, 1.0f);
      c.all_reduce(x);
    } catch (const RankLost& e) {
      if (c.rank() == 1) late_heard = e.what();
      (c.rank() == 1 ? late_ended : given_up) = true;
      while (!late_ended) std::this_thread::yield();
      throw;
    }
  };
  CHECK_THROWS_WITH_AS(run_ranks(3, work, 0.5), Contains("rank 1 has not answered for 0.5 s"), RankLost);
  CHECK(late_heard.ends_with("rank 1 has not answered for 0.5 s"));
}

TEST_CASE("a rank that ends while another waits for it is noticed at once") {
  for (const int ranks : {2, 3, 4}) {
    const auto work = [](Communicator& c) {
      std::vector<float> x(8, 1.0f);
      c.all_reduce(x);
      if (c.rank() == 0) c.all_reduce(x);
    };
    const auto begun = std::chrono::steady_clock::now();
    CHECK_THROWS_WITH_AS(run_ranks(ranks, work, 30),
                         "rank 1 has ended, and another waits for it: wanted the same calls on every rank", RankLost);
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(10));
  }
}

TEST_CASE("ranks that call different things are told so") {
  const auto work = [](Communicator& c) {
    std::vector<float> x(c.rank() == 0 ? 8 : 6, 1.0f);
    c.all_reduce(x);
  };
  CHECK_THROWS_WITH_AS(run_ranks(2, work), Contains("wanted the same calls on every rank"), RankLost);
}

TEST_CASE("parts cover everything once, in whole grains") {
  for (const int64_t n : {0, 1, 5, 31, 32, 33, 512, 1000})
    for (const int64_t grain : {1, 32})
      for (const int ranks : {1, 2, 3, 8}) {
        int64_t next = 0;
        for (int r = 0; r < ranks; ++r) {
          const Part p = part_of(n, r, ranks, grain);
          CHECK(p.first == next);
          CHECK((p.first % grain == 0 || p.first == n));
          next += p.count;
        }
        CHECK(next == n);
      }
}

TEST_SUITE_END();
