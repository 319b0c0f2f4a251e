#include "rungs/measure/peak_memory.hpp"

#include <malloc.h>

#include <fstream>
#include <string>

namespace rungs {

/// The number behind "name:", which is in kB.
static std::optional<int64_t> bytes_in(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) * 1024;
  return {};
}

std::optional<int64_t> resident_memory() { return bytes_in("/proc/self/status", "VmRSS"); }

std::optional<int64_t> peak_memory() { return bytes_in("/proc/self/status", "VmHWM"); }

bool reset_peak_memory() {
  malloc_trim(0);
  std::ofstream file("/proc/self/clear_refs");
  file << "5\n";  // proc(5): sets the peak to what is resident now
  file.close();
  return file.good();
}

std::optional<int64_t> available_memory() { return bytes_in("/proc/meminfo", "MemAvailable"); }

}  // namespace rungs
