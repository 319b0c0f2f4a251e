#include "kernels/emulator/checker/count.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "checker/counted.hpp"
#include "checker/faults.hpp"

namespace rungs::test {
namespace {

using emulator::CountedLine;
using emulator::Kind;

/// Counts while it lives.
struct Counting {
  bool before = emulator::counting();
  Counting() {
    emulator::count_accesses(true);
    emulator::reset_counts();
  }
  ~Counting() {
    emulator::reset_counts();
    emulator::count_accesses(before);
  }
};

int marked_line(const std::string& name) {
  std::ifstream source(counted_source());
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.ends_with("// count: " + name)) return number;
  }
  FAIL("no line is marked " << name);
  return 0;
}

CountedLine counted(const std::string& name, bool shared, Kind kind = Kind::read) {
  const int line = marked_line(name);
  for (const CountedLine& found : emulator::counted_lines()) {
    if (found.file == "checker/counted.cu" && found.line == line && found.shared == shared && found.kind == kind) {
      return found;
    }
  }
  FAIL("nothing counted at " << name);
  return {};
}

void check_cost(const std::string& name, bool shared, uint64_t cost, uint64_t ideal, uint64_t requests = 1,
                Kind kind = Kind::read) {
  INFO(name);
  const CountedLine line = counted(name, shared, kind);
  CHECK(line.cost == cost);
  CHECK(line.ideal == ideal);
  CHECK(line.requests == requests);
}

}  // namespace

TEST_SUITE_BEGIN("counter");

TEST_CASE("sectors of global memory for each request") {
  const Counting counting;
  DeviceFloats out(256), in(1024);
  run_global_loads(out, in);
  check_cost("coalesced", false, 4, 4);
  check_cost("stride 2", false, 8, 4);
  check_cost("stride 32", false, 32, 4);
  check_cost("one off", false, 5, 4);
  check_cost("broadcast", false, 1, 1);
  check_cost("one of four", false, 16, 4);
  check_cost("float4", false, 16, 16);
  check_cost("three lanes", false, 1, 1);
  check_cost("float3", false, 3 * 12, 3 * 4, 3);  // three loads, each of 32 floats that stand 12 bytes apart
  check_cost("float4 store", false, 16, 16, 1, Kind::write);
  check_cost("coalesced store", false, 4, 4, 1, Kind::write);
  CHECK(counted("float4", false).bytes == 512);
  CHECK(counted("float4", false).access_bytes == 16);
  CHECK(counted("three lanes", false).bytes == 12);
  CHECK(counted("stride 2", false).wasteful());
  CHECK_FALSE(counted("one off", false).wasteful());
}

TEST_CASE("waves through the banks of shared memory") {
  const Counting counting;
  DeviceFloats out(32);
  run_shared_loads(out);
  check_cost("rows", true, 33, 33, 33, Kind::write);
  check_cost("no conflict", true, 1, 1);
  check_cost("two ways", true, 2, 1);
  check_cost("column", true, 32, 1);
  check_cost("padded column", true, 1, 1);
  check_cost("same word", true, 1, 1);
  check_cost("shared float4", true, 4, 4);
  check_cost("float4 two ways", true, 8, 4);
  check_cost("shared float2", true, 2, 2);
  check_cost("bytes", true, 1, 1);
}

TEST_CASE("lanes that come to a line for the same time share a request") {
  const Counting counting;
  DeviceFloats out(1), in(1000);
  run_loop(out, in, 1000);  // 16 turns for the first warp, 16 for the second, of which the last is for 8 lanes
  check_cost("loop", false, 2 * 125, 2 * 125, 2 * 32);
  check_cost("loop again", false, 2 * 125, 2 * 125, 2 * 32);
  check_cost("atomic", false, 4, 4, 4, Kind::atomic);
}

TEST_CASE("of a line's requests the costliest is kept, with the place of each lane") {
  const Counting counting;
  {
    DeviceFloats out(256), in(1024);
    run_global_loads(out, in);
  }
  const emulator::CountedRequest off = counted("one off", false).costliest,
                                 few = counted("three lanes", false).costliest;
  CHECK(off.cost == 5);
  CHECK(off.ideal == 4);
  CHECK(off.offset[31] - off.offset[0] == 31 * 4);
  CHECK(off.offset[0] % 32 == 4);
  CHECK(few.offset[2] - few.offset[0] == 8);
  CHECK(few.offset[3] == -1);

  DeviceFloats out(1), in(1000);
  run_loop(out, in, 1000);
  const emulator::CountedRequest full = counted("loop", false).costliest;  // the last request has 8 lanes
  CHECK(full.cost == 4);
  CHECK(full.offset[31] - full.offset[0] == 31 * 4);
}

TEST_CASE("counts as JSON") {
  const Counting counting;
  DeviceFloats out(256), in(1024);
  run_global_loads(out, in);
  const auto json = nlohmann::json::parse(emulator::counted_json(emulator::counted_lines()));
  REQUIRE(json.size() == emulator::counted_lines().size());
  CHECK(json[0]["file"] == "checker/counted.cu");
  CHECK(json[0]["line"] == marked_line("coalesced"));
  CHECK(json[0]["sectors"] == 4);
  CHECK_FALSE(json[0]["wasteful"]);
  CHECK(json[0]["costliest"]["cost"] == 4);
  CHECK(json[0]["costliest"]["offset"].size() == 32);
  CHECK(json[0]["costliest"]["offset"][31] == 31 * 4);
  const auto strided =
      std::find_if(json.begin(), json.end(), [](const auto& line) { return line["line"] == marked_line("stride 32"); });
  REQUIRE(strided != json.end());
  CHECK((*strided)["wasteful"]);
}

TEST_SUITE_END();

}  // namespace rungs::test
