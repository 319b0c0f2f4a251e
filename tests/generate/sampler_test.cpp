#include "rungs/generate/sampler.hpp"

#include <cmath>
#include <limits>

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("text");

static std::vector<float> distribution(const std::vector<float>& logits, const SampleOptions& options) {
  std::vector<float> out(logits.size());
  std::vector<int32_t> order;
  probabilities(out, logits, options, order);
  return out;
}

/// ln of each: the logits that give these probabilities at temperature 1.
static std::vector<float> logits_of(std::vector<float> p) {
  for (float& x : p) x = std::log(x);
  return p;
}

static void check_near(const std::vector<float>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - want[i]) <= 4 * unit_roundoff);
    CHECK((got[i] == 0) == (want[i] == 0));
  }
}

TEST_CASE("a temperature of 0 puts all probability on the largest logit, the lowest id on a tie") {
  CHECK(distribution({1, 3, 2, 3}, {}) == std::vector<float>{0, 1, 0, 0});
  CHECK(distribution({-5, -5}, {.temperature = 0, .top_k = 2, .top_p = 0.5}) == std::vector<float>{1, 0});
}

TEST_CASE("among many logits the largest is found wherever it is, and the first that is not finite is named") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const size_t at : {0, 7, 8, 31, 64, 95, 96, 99}) {
    CAPTURE(at);
    std::vector<float> logits(100, -3.0f), wanted(100, 0.0f);
    logits[at] = logits[99] = -2, wanted[at] = 1;
    CHECK(distribution(logits, {}) == wanted);
    for (const auto& [wrong, name] : {std::pair{nan, "nan"}, {infinity, "inf"}, {-infinity, "-inf"}}) {
      logits[at] = logits[99] = wrong;
      const std::string sentence = "logit " + std::to_string(at) + " is " + name + ": wanted finite logits";
      CHECK_THROWS_WITH_AS(distribution(logits, {}), sentence.c_str(), UsageError);
    }
  }
}

TEST_CASE("a temperature divides the logits before the softmax") {
  check_near(distribution(logits_of({0.1f, 0.2f, 0.7f}), {.temperature = 1}), {0.1, 0.2, 0.7});
  const double sum = 0.01 + 0.04 + 0.49;
  check_near(distribution(logits_of({0.1f, 0.2f, 0.7f}), {.temperature = 0.5}), {0.01 / sum, 0.04 / sum, 0.49 / sum});
}

TEST_CASE("no temperature and no logit overflows") {
  check_near(distribution({3e38f, -3e38f, 3e38f}, {.temperature = 1e-300}), {0.5, 0, 0.5});
  check_near(distribution({100, 90}, {.temperature = 1e300}), {0.5, 0.5});
}

TEST_CASE("top-k keeps the k most probable, the lowest ids on a tie") {
  const auto logits = logits_of({0.2f, 0.3f, 0.1f, 0.2f, 0.2f});
  check_near(distribution(logits, {.temperature = 1, .top_k = 2}), {0.4, 0.6, 0, 0, 0});
  check_near(distribution(logits, {.temperature = 1, .top_k = 1}), {0, 1, 0, 0, 0});
  check_near(distribution(logits, {.temperature = 1, .top_k = 5}), {0.2, 0.3, 0.1, 0.2, 0.2});
  check_near(distribution(logits, {.temperature = 1, .top_k = 9}), {0.2, 0.3, 0.1, 0.2, 0.2});
}

TEST_CASE("top-p keeps the smallest set that reaches p, the token that crosses it included") {
  const auto logits = logits_of({0.125f, 0.5f, 0.125f, 0.25f});
  check_near(distribution(logits, {.temperature = 1, .top_p = 0.4}), {0, 1, 0, 0});
  check_near(distribution(logits, {.temperature = 1, .top_p = 0.6}), {0, 2 / 3.0, 0, 1 / 3.0});
  check_near(distribution(logits, {.temperature = 1, .top_p = 0.8}), {1 / 7.0, 4 / 7.0, 0, 2 / 7.0});
  check_near(distribution(logits, {.temperature = 1, .top_p = 1e-9}), {0, 1, 0, 0});
}

TEST_CASE("top-p is measured on what top-k left") {
  const auto logits = logits_of({0.125f, 0.5f, 0.125f, 0.25f});
  // Of the two that top-k keeps the first has 2/3: enough for 0.6, though it has only 0.5 of the whole.
  check_near(distribution(logits, {.temperature = 1, .top_k = 2, .top_p = 0.6}), {0, 1, 0, 0});
  check_near(distribution(logits, {.temperature = 1, .top_k = 2, .top_p = 0.7}), {0, 2 / 3.0, 0, 1 / 3.0});
}

TEST_CASE("options outside their range and logits that are not finite are refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const auto says = [](const SampleOptions& options, const char* sentence) {
    CHECK_THROWS_WITH_AS(distribution({1, 2}, options), sentence, UsageError);
    CHECK_THROWS_WITH_AS(Sampler(options, 0), sentence, UsageError);
  };
  says({.temperature = -0.5}, "temperature: wanted a number of at least 0, found -0.5");
  says({.temperature = nan}, "temperature: wanted a number of at least 0, found nan");
  says({.temperature = infinity}, "temperature: wanted a number of at least 0, found inf");
  says({.top_k = -1}, "top-k: wanted at least 0, found -1");
  says({.top_p = 0}, "top-p: wanted a number above 0 and at most 1, found 0");
  says({.top_p = 1.5}, "top-p: wanted a number above 0 and at most 1, found 1.5");
  says({.top_p = nan}, "top-p: wanted a number above 0 and at most 1, found nan");
  CHECK_THROWS_WITH_AS(distribution({1, float(nan)}, {}), "logit 1 is nan: wanted finite logits", UsageError);
  CHECK_THROWS_WITH_AS(distribution({float(infinity), 1}, {.temperature = 1}), "logit 0 is inf: wanted finite logits",
                       UsageError);
  CHECK_THROWS_AS(distribution({}, {}), UsageError);
}

TEST_CASE("sample takes the first token whose running sum exceeds the draw") {
  const std::vector<float> p = {0.25f, 0, 0.5f, 0.25f, 0};
  CHECK(sample(p, 0) == 0);
  CHECK(sample(p, 0.2499) == 0);
  CHECK(sample(p, 0.25) == 2);
  CHECK(sample(p, 0.7499) == 2);
  CHECK(sample(p, 0.75) == 3);
  CHECK(sample(p, 0.9999999999) == 3);
  CHECK(sample(std::vector<float>{0.5f, 0.4999f, 0}, 0.99999) == 1);  // the sum ends below the draw
  CHECK_THROWS_WITH_AS(sample(p, 1), "a draw is a number in [0, 1), not 1", UsageError);
  CHECK_THROWS_AS(sample(p, -0.1), UsageError);
  CHECK_THROWS_AS(sample(std::vector<float>{0, 0}, 0.5), UsageError);
}

TEST_CASE("the draws of a seed are the same on every platform") {
  std::mt19937_64 random(5489);  // the generator's standard seed; its first number is 14514284786278117030
  CHECK(draw(random) == double(14514284786278117030u >> 11) * 0x1p-53);
  for (int i = 2; i < 10000; ++i) draw(random);
  CHECK(draw(random) == double(9981545732273789042u >> 11) * 0x1p-53);  // the 10000th, as the C++ standard says
}

TEST_CASE("a seed decides the tokens") {
  const std::vector<float> logits = {0, 1, 2, 1, 0, 0.5f};
  const auto tokens = [&](uint64_t seed) {
    Sampler sampler({.temperature = 1.5}, seed);
    std::vector<int32_t> list;
    for (int i = 0; i < 20; ++i) list.push_back(sampler.next(logits));
    return list;
  };
  CHECK(tokens(1) == tokens(1));
  CHECK(tokens(1) != tokens(2));
  CHECK(tokens(0) == std::vector<int32_t>{1, 5, 0, 2, 2, 0, 3, 2, 4, 5, 2, 3, 5, 2, 1, 2, 4, 3, 2, 2});
}

TEST_SUITE_END();
