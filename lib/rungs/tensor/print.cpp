#include "rungs/tensor/print.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rungs {

std::string table(const std::string& name, const Tensor& tensor, const std::vector<std::string>& row_names) {
  constexpr int64_t most_rows = 12, most_columns = 10;
  const int64_t rows = tensor.rows(), columns = tensor.cols();
  size_t label = 0;
  for (const std::string& row : row_names) label = std::max(label, row.size());

  std::string text = fmt::format("{} {}\n", name, to_string(tensor.shape()));
  for (int64_t r = 0; r < std::min(rows, most_rows); ++r) {
    text += fmt::format("  {:<{}}", size_t(r) < row_names.size() ? row_names[size_t(r)] : "", label);
    for (int64_t c = 0; c < std::min(columns, most_columns); ++c) {
      const double value = tensor.value(r * columns + c);
      const bool whole = tensor.dtype() == DType::i32 || tensor.dtype() == DType::i64;
      text += whole ? fmt::format(" {:>7}", int64_t(value)) : fmt::format(" {:>7.3f}", value == 0 ? 0.0 : value);
    }
    text += columns > most_columns ? fmt::format("  ... {} more\n", columns - most_columns) : "\n";
  }
  if (rows > most_rows) text += fmt::format("  ... {} more rows\n", rows - most_rows);
  return text;
}

void print(const std::string& name, const Tensor& tensor, const std::vector<std::string>& row_names) {
  fmt::print("{}", table(name, tensor, row_names));
}

}  // namespace rungs
