#include "rungs/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "rungs/ops/processor.hpp"

namespace rungs {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> list) {
  const auto middle = list.begin() + int64_t(list.size() / 2);
  std::nth_element(list.begin(), middle, list.end());
  return list.size() % 2 ? *middle : (*std::max_element(list.begin(), middle) + *middle) / 2;
}

Timing measure(const std::function<void()>& work, double seconds) {
  std::vector<double> runs;
  double total = 0;
  while (runs.empty() || (total < seconds && runs.size() < 50) || (runs.size() < 3 && runs[0] < seconds)) {
    const double start = now();
    work();
    runs.push_back(now() - start);
    total += runs.back();
  }
  return {median(runs), int(runs.size())};
}

std::string machine() {
  std::string name = "unknown processor", line;
  std::ifstream info("/proc/cpuinfo");
  while (std::getline(info, line))
    if (line.starts_with("model name") && line.find(": ") != line.npos) {
      name = line.substr(line.find(": ") + 2);
      break;
    }
  std::string vectors;
  for (const VectorTarget& t : vector_targets())
    if (t.used) vectors = t.name;
  return fmt::format("{}, {} cores, {}", name, std::thread::hardware_concurrency(), vectors);
}

}  // namespace rungs
