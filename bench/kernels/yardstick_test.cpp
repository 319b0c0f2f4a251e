// What the report says of a yardstick, as on a GPU, where there is one.
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "bench.hpp"

namespace rungs::bench {

const bool on_gpu = true;

TEST_SUITE_BEGIN("kernels");

/// The report on a ladder whose yardstick is this far off, as a share of its tolerance, and on a rung that is right.
static nlohmann::json report(double fault, int status) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("rungs_yardstick_" + std::to_string(getpid()) + ".json");
  Bench::Options options;
  options.tiny = true, options.out = file;
  {
    Bench bench(options);
    const auto rung = [](const char* name, double off) {
      const auto run = [](int) { std::this_thread::sleep_for(std::chrono::microseconds(100)); };
      return Rung{name, 1e6, run, [] {}, [off](int) { return off; }};
    };
    bench.ladder("a ladder", "of this shape", Unit::flop, 0, "another's");
    bench.measure_yardstick(rung("another's", fault));
    bench.measure(rung("ours", 0.5));
    CHECK(bench.finish() == status);
  }
  nlohmann::json all = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  return all["ladders"][0];
}

TEST_CASE("a yardstick within its tolerance is what the rungs are compared with") {
  const auto ladder = report(0.5, 0);
  CHECK(ladder["yardstick_per_second"] > 0);
  CHECK(ladder["yardstick_right"] == true);
  CHECK(ladder["rungs"][1]["share"] > 0);
}

TEST_CASE("one outside of its tolerance is marked, and no fault of ours") {
  const auto ladder = report(2.5, 0);
  CHECK(ladder["yardstick_per_second"] > 0);
  CHECK(ladder["yardstick_right"] == false);
  CHECK(ladder["rungs"][0]["right"] == false);
  CHECK(ladder["rungs"][0]["share_of_tolerance"] == 2.5);
  CHECK(ladder["rungs"][1]["share"] > 0);
}

TEST_CASE("one that gives no numbers is none") {
  const auto ladder = report(std::numeric_limits<double>::infinity(), 1);
  CHECK(ladder["yardstick_per_second"].is_null());
  CHECK(ladder["rungs"][1]["share"].is_null());
}

TEST_SUITE_END();

}  // namespace rungs::bench
