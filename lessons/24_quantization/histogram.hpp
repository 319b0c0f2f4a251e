/// A row of weights as a picture, above the steps that int8 and int4 would have with one scale.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "lesson.hpp"

namespace lesson_24 {

/// How many elements lie where between -max |x| and max |x|, and where the steps of int8 and int4 are.
inline void print_histogram(const Tensor& row) {
  constexpr int columns = 65, middle = 32;
  const float largest = 127 * int8_scale({row.data(), size_t(row.count())});
  std::vector<int> height(columns);
  for (int64_t i = 0; i < row.count(); ++i) ++height[middle + std::lround(row.flat(i) / largest * middle)];
  for (int level = *std::max_element(height.begin(), height.end()); level > 0; --level) {
    std::string line;
    for (const int h : height) line += h >= level ? '#' : ' ';
    line.resize(line.find_last_not_of(' ') + 1);
    fmt::print("{:>8} {}\n", level, line);
  }
  std::string four(columns, ' ');
  for (int n = -8; n < 8; ++n) four[middle + 4 * n] = '|';
  fmt::print("    int8 {:|<65}  4 steps each\n    int4 {}\n", "", four.substr(0, middle + 29));
  fmt::print("         {:<31.3f}0{:>33.3f}\n", -largest, largest);
}

}  // namespace lesson_24
