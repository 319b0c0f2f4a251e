// One rank has the requests, the others compute what it says.
#include "rungs/parallel/lead.hpp"

#include "contains.hpp"
#include "parallel/ranks.hpp"
#include "rungs/batching/batch_engine.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("parallel");

namespace {

/// Few blocks for many requests that begin alike: blocks are shared, copied before they are written, and taken away.
constexpr BatchingOptions few_blocks{.blocks = 14, .block_size = 4, .max_running = 4, .max_rows = 12, .context = 40};

std::vector<Request> requests_that_share() {
  std::vector<Request> all;
  for (int32_t i = 0; i < 14; ++i) {
    Request r{.prompt = {1, 9, 8, 7, 6, 5, 4, 3}, .sampling = {.temperature = 0}, .max_tokens = 6 + i};
    if (i % 2) r.prompt.push_back(i);
    all.push_back(r);
  }
  return all;
}

using Texts = std::map<int64_t, std::vector<int32_t>>;

struct ServedTexts {
  Texts texts;
  BatchStats stats;
  int64_t preemptions;
};

ServedTexts serve_all(Model& model) {
  BatchEngine engine(model, few_blocks);
  for (const Request& r : requests_that_share()) engine.submit(r);
  Texts texts;
  while (!engine.idle())
    for (const DrawnToken& d : engine.step()) texts[d.id].push_back(d.token);
  return {texts, engine.stats(), engine.scheduler().preemptions()};
}

/// The files of a model that 2 and 4 ranks can share.
struct RandomModelFolder {
  RandomModelFolder() { save_random_llama(folder.path(), random_shape(8, 2, 200, 131, false), DType::f32, 5); }
  std::unique_ptr<Model> shared(CpuOps& ops, Communicator& ranks, int64_t rows = 16) const {
    return std::make_unique<ParallelLlama>(ops, through_host(ops, ranks), LlamaCheckpoint(folder.path()),
                                           LoadOptions{.max_rows = rows});
  }
  Folder folder;
};

void follow_few_blocks(Model& model, Communicator& ranks) {
  follow(model, ranks, few_blocks.max_running, {few_blocks.blocks, few_blocks.block_size}, DType::f32);
}

}  // namespace

TEST_CASE("requests that share, copy and lose blocks get from 2 and 4 ranks the texts that one process draws") {
  const RandomModelFolder files;
  CpuOps ops_alone;
  const auto alone = load_model(ops_alone, files.folder.path(), {.max_rows = 16});
  const ServedTexts wanted = serve_all(*alone);
  REQUIRE(wanted.preemptions > 0);
  REQUIRE(wanted.stats.copies > 0);
  for (const int n : {2, 4}) {
    CAPTURE(n);
    ServedTexts got;
    run_ranks(n, [&](Communicator& ranks) {
      use_threads(1);
      CpuOps ops;
      if (ranks.rank() > 0) return follow_few_blocks(*files.shared(ops, ranks), ranks);
      LeadingModel model(files.shared(ops, ranks), ranks);
      ask_followers(ranks);
      got = serve_all(model);
      ask_followers(ranks);
      end_followers(ranks);
    });
    CHECK(got.texts == wanted.texts);
    CHECK(got.stats.copies == wanted.stats.copies);
  }
}

TEST_CASE("a rank that fails in the middle of a call is lost to the others, and named") {
  const RandomModelFolder files;
  const auto fails = [&](int who) {  // it has room for fewer rows than it is asked for
    run_ranks(2, [&](Communicator& ranks) {
      use_threads(1);
      CpuOps ops;
      auto shared = files.shared(ops, ranks, ranks.rank() == who ? 4 : 16);
      if (ranks.rank() > 0) return follow_few_blocks(*shared, ranks);
      LeadingModel model(std::move(shared), ranks);
      KvCache cache(ops, model.config(), 4, Paging{8, 4});
      cache.tables[2] = {0, 1};
      Batch batch;
      batch.add(2, std::vector<int32_t>{1, 2, 3, 4, 5}, 0, true);
      Tensor logits({1, 131});
      model.forward(logits, batch, &cache);
    });
  };
  CHECK_THROWS_WITH_AS(fails(0), Contains("rank 0: "), RankLost);
  CHECK_THROWS_WITH_AS(fails(1), Contains("rows"), Error);
}

TEST_SUITE_END();
