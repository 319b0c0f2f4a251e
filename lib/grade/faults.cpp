#include "grade/faults.hpp"

#include <regex>

namespace rungs {

bool is_kernel_fault(const std::string& says) {
  const size_t kernel = says.find("kernel ");
  return kernel != says.npos && says.find(", block (", kernel) != says.npos;
}

static std::string without_places(const std::string& says) {
  static const std::regex file(R"([\w./-]+\.(cu|cuh|cpp|hpp):)"), space(R"(\w+::)"), number(R"(0x[0-9a-f]+|\d+)");
  std::string text = std::regex_replace(says, file, "");
  text = std::regex_replace(text, space, "");
  return std::regex_replace(text, number, "0");
}

bool alike_faults(const std::string& a, const std::string& b) { return without_places(a) == without_places(b); }

}  // namespace rungs
