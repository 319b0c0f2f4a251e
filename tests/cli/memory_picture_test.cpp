// What a request of a warp touches, as `rungs profile --svg` draws it.
#include "show/memory_picture.hpp"

#include "cli.hpp"
#include "contains.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

namespace {

/// Lane i begins at first + i · apart.
WarpRequest request(bool shared, int64_t bytes, int64_t first, int64_t apart, int lanes = 32) {
  WarpRequest r{7, "load", shared, bytes, 0, 0, {}};
  for (int lane = 0; lane < 32; ++lane) r.offset[size_t(lane)] = lane < lanes ? first + lane * apart : -1;
  return r;
}

size_t times(const std::string& what, const std::string& text) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size()) ++found;
  return found;
}

}  // namespace

TEST_CASE("a row for each sector of 32 bytes, with the lanes that want its words") {
  const auto neighbours = rows_of(request(false, 4, 0, 4));
  REQUIRE(neighbours.size() == 4);
  CHECK(neighbours[1].words.size() == 8);
  CHECK(neighbours[1].words[0].offset == 32);
  CHECK(neighbours[1].words[0].lanes == std::vector<int>{8});

  CHECK(rows_of(request(false, 4, 4, 4)).size() == 5);  // one off
  const auto column = rows_of(request(false, 4, 0, 128));
  REQUIRE(column.size() == 32);
  CHECK(column[31].words.size() == 1);
  const auto same = rows_of(request(false, 4, 28, 0));
  REQUIRE(same.size() == 1);
  CHECK(same[0].words[0].lanes.size() == 32);
  CHECK(rows_of(request(false, 2, 0, 2)).size() == 2);  // two lanes a word
  CHECK(rows_of(request(false, 2, 0, 2))[0].words[1].lanes == std::vector<int>{2, 3});
  CHECK(rows_of(request(false, 16, 0, 16)).size() == 16);  // two lanes a sector
  CHECK(rows_of(request(false, 4, 0, 4, 3)).size() == 1);  // three lanes
}

TEST_CASE("a row for each wave, in which a bank gives one word") {
  CHECK(rows_of(request(true, 4, 0, 4)).size() == 1);
  CHECK(rows_of(request(true, 4, 0, 8)).size() == 2);
  CHECK(rows_of(request(true, 4, 0, 33 * 4)).size() == 1);
  CHECK(rows_of(request(true, 4, 20, 0)).size() == 1);  // one word for all
  const auto column = rows_of(request(true, 4, 0, 128));
  REQUIRE(column.size() == 32);
  CHECK(column[5].words[0].lanes == std::vector<int>{5});

  const auto fours = rows_of(request(true, 16, 0, 16));  // a quarter of the warp in each
  REQUIRE(fours.size() == 4);
  CHECK(fours[1].lanes == "8-15");
  CHECK(fours[1].words.size() == 32);
  CHECK(rows_of(request(true, 16, 0, 32)).size() == 8);
}

TEST_CASE("a drawing has a box for every word, says what the request costs, and can stand in a page") {
  WarpRequest load = request(true, 4, 0, 256), store = request(false, 4, 0, 128);
  load.cost = 32, load.ideal = 1, store.cost = 32, store.ideal = 4;
  const std::string svg = memory_svg("17_cuda_matmul", "c[i] = tile[i][0] < x;", {load, store});
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg == Contains("17_cuda_matmul, line 7:  c[i] = tile[i][0] &lt; x;"));
  CHECK(svg == Contains("shared load of 4 bytes by 32 lanes: 32 waves, and 1 would do for these bytes"));
  CHECK(svg == Contains("global load of 4 bytes by 32 lanes: 32 sectors, and 4 would do for these bytes"));
  CHECK(times("class=\"more\"", svg) == 31);      // all but the first wave wait
  CHECK(times("class=\"used\"", svg) == 1 + 32);  // the first wave, and a word of each sector
  CHECK(times("class=\"idle\"", svg) == 32 * 31 + 32 * 7);
  CHECK(svg == Contains("html.dark-mode"));
  CHECK(svg == Contains("prefers-color-scheme: dark"));
}

TEST_SUITE_END();
