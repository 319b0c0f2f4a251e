#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "checker/faults.hpp"
#include "rungs/base/error.hpp"

namespace rungs::test {

std::vector<Fault>& faults() {
  static std::vector<Fault> all;
  return all;
}

DeviceFloats::DeviceFloats(size_t n, bool written) {
  CUDA_CHECK(cudaMalloc(&data_, n * sizeof(float)));
  if (!written) return;
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  CUDA_CHECK(cudaMemcpy(data_, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
}

DeviceFloats::~DeviceFloats() { cudaFree(data_); }

namespace {

/// "races.cu:12" for each line that is marked with the fault's name.
std::vector<std::string> marked_lines(const Fault& fault) {
  const std::string name = std::filesystem::path(fault.file).filename().string();
  std::ifstream source(fault.file);
  REQUIRE(source.is_open());
  std::vector<std::string> lines;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    const size_t mark = line.find("// fault: ");
    if (mark == std::string::npos) continue;
    const std::string names = ", " + line.substr(mark + 10) + ",";  // several may share a line
    if (names.find(", " + fault.name + ",") != std::string::npos) lines.push_back(name + ":" + std::to_string(number));
  }
  return lines;
}

/// What is wrong with the message about a fault; empty when it names the fault, its lines and its place.
std::string lacks(const Fault& fault, const std::string& message) {
  for (const std::string& line : marked_lines(fault)) {
    const size_t at = message.find(line), end = at + line.size();
    const bool whole = at != std::string::npos && (end == message.size() || !std::isdigit(message[end]));
    if (!whole) return "the line " + line;
  }
  const bool launched = !fault.file.ends_with("launches.cu");
  for (const std::string& words : {fault.says, std::string(launched ? "kernel " : ""),
                                   std::string(launched ? "block (" : ""), std::string(launched ? "thread (" : "")}) {
    if (message.find(words) == std::string::npos) return "the words '" + words + "'";
  }
  return "";
}

/// The message of the broken kernel; empty when nothing is found.
std::string message_of(const Fault& fault) {
  try {
    fault.run(false);
  } catch (const CudaError& error) {
    return error.what();
  }
  return "";
}

/// Each fault of a file is named, and the kernel without it passes, whichever thread comes first.
void check_faults(const std::string& file) {
  const char* outer = std::getenv("RUNGS_THREAD_ORDER");
  const std::string outer_order = outer ? outer : "forward";
  int count = 0;
  for (const Fault& fault : faults()) {
    if (!fault.file.ends_with("/" + file)) continue;
    ++count;
    for (const char* order : {"forward", "reverse", "random:1", "random:2"}) {
      setenv("RUNGS_THREAD_ORDER", order, 1);
      const std::string message = message_of(fault);
      INFO(fault.name << ", " << std::string(order) << "\n" << message);
      CHECK(lacks(fault, message) == "");
      CHECK_NOTHROW(fault.run(true));
    }
  }
  setenv("RUNGS_THREAD_ORDER", outer_order.c_str(), 1);
  CHECK(count > 0);
}

}  // namespace

TEST_SUITE_BEGIN("checker");

TEST_CASE("a race on shared memory is reported with both lines and its twin with a barrier is not") {
  check_faults("races.cu");
}
TEST_CASE("the lanes of a warp are ordered by __syncwarp and its mask alone") { check_faults("warps.cu"); }
TEST_CASE("blocks and their barriers: divergence and races on device memory") { check_faults("blocks.cu"); }
TEST_CASE("what a kernel may not touch") { check_faults("bounds.cu"); }
TEST_CASE("memory that nobody wrote") { check_faults("unwritten.cu"); }
TEST_CASE("asynchronous copies") { check_faults("copies.cu"); }
TEST_CASE("launches that a GPU refuses") { check_faults("launches.cu"); }
TEST_CASE("a kernel that may begin early waits before it touches what those before it touch") {
  check_faults("overlap.cu");
}
TEST_CASE("a kernel that may begin early need not wait for kernels that have ended") {
  CHECK_NOTHROW(read_after_the_host_waited());
  CHECK_NOTHROW(read_after_a_copy());
  CHECK_NOTHROW(read_after_an_ordinary_kernel());
}

TEST_SUITE_END();

}  // namespace rungs::test
