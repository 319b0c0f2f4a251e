#include "rungs/base/units.hpp"

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("systems");

TEST_CASE("sizes are read with their units") {
  CHECK(parse_bytes("memory", "80GB") == int64_t(80) << 30);
  CHECK(parse_bytes("memory", "80 gib") == int64_t(80) << 30);
  CHECK(parse_bytes("memory", "1.5TB") == int64_t(3) << 39);
  CHECK(parse_bytes("memory", "512MB") == 512 << 20);
  CHECK(parse_bytes("memory", "4096") == 4096);
  CHECK(parse_tokens("context", "128k") == 131072);
  CHECK(parse_tokens("context", "1M") == 1 << 20);
  CHECK(parse_count("parameters", "8B") == 8'000'000'000);
  CHECK(parse_count("parameters", "1.5k") == 1500);
  CHECK(parse_count("parameters", "4611686018427387903") == 4611686018427387903);
}

TEST_CASE("what is no size is refused, and why is said") {
  const auto says = [](const char* text, const char* sentence) {
    CHECK_THROWS_WITH_AS(parse_bytes("memory", text), sentence, UsageError);
  };
  says("much", "memory: wanted a size such as 80GB, found \"much\"");
  says("", "memory: wanted a size such as 80GB, found \"\"");
  says("80XB",
       "memory: wanted a size such as 80GB, found \"80XB\": there is no unit \"XB\", but B, KB, KiB, MB, MiB, GB, GiB, "
       "TB, TiB");
  says("0", "memory: wanted a size such as 80GB, found \"0\", which is less than 1");
  says("-3GB", "memory: wanted a size such as 80GB, found \"-3GB\", which is less than 1");
  says("1.5", "memory: wanted a size such as 80GB, found \"1.5\", which is not whole");
  says("99999999999TB", "memory: wanted a size such as 80GB, found \"99999999999TB\", which is more than 2^62");
  says("1e999", "memory: wanted a size such as 80GB, found \"1e999\"");
  says("nan", "memory: wanted a size such as 80GB, found \"nan\"");
  CHECK_THROWS_WITH_AS(parse_tokens("context", "4q"),
                       "context: wanted a positive whole number such as 4096 or 128k, found \"4q\": there is no unit "
                       "\"q\", but k, M",
                       UsageError);
}

TEST_CASE("numbers are written with units and commas") {
  CHECK(in_units(0) == "0 bytes");
  CHECK(in_units(1023) == "1023 bytes");
  CHECK(in_units(1536) == "1.50 KiB");
  CHECK(in_units(int64_t(80) << 30) == "80.0 GiB");
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(8030261248) == "8,030,261,248");
  CHECK(with_commas(-880) == "-880");
  CHECK(with_commas(-2880) == "-2,880");
}
