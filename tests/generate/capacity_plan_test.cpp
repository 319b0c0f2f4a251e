#include "rungs/generate/capacity_plan.hpp"

#include "support.hpp"

using namespace rungs;

TEST_SUITE_BEGIN("text");

namespace {

LoadOptions plan(const std::vector<int64_t>& lengths, bool cache, int64_t context = 1024) {
  GenerateOptions options;
  options.max_tokens = 32;
  options.cache = cache;
  return plan_load(lengths, options, context);
}

}  // namespace

TEST_CASE("with the cache prompts are fed in calls of up to 512 rows, and the longest sequence has room") {
  CHECK(plan({256}, true).max_rows == 256);
  CHECK(plan({256, 100}, true).max_rows == 356);
  CHECK(plan({256, 256, 256}, true).max_rows == 512);
  CHECK(plan(std::vector<int64_t>(600, 1), true).max_rows == 600);  // a step of decoding has a row of each
  CHECK(plan({10, 256}, true).sequences == 2);
  CHECK(plan({10, 256}, true).capacity == 288);
  CHECK(plan({10, 1020}, true).capacity == 1024);  // there the context ends
}

TEST_CASE("a model is loaded for the positions that will be used, however many it knows") {
  CHECK(plan({10, 256}, true, 1 << 24).context == 288);
  CHECK(plan({10, 256}, false, 1 << 24).context == 288);
  CHECK(plan({5000}, true).context == 1024);
}

TEST_CASE("without the cache whole sequences are fed, in calls of up to 2048 rows where they are no longer") {
  CHECK(plan({256}, false).max_rows == 288);
  CHECK(plan({256, 256, 256}, false).max_rows == 3 * 288);
  CHECK(plan(std::vector<int64_t>(16, 256), false).max_rows == 2048);
  CHECK(plan({5000, 10}, false, 8192).max_rows == 5032);
  CHECK(plan({256}, false).sequences == 0);
  CHECK(plan({256}, false).capacity == 0);
}

TEST_SUITE_END();
