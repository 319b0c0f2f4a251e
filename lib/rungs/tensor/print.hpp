/// Shows small tensors to a person.
#pragma once

#include <string>
#include <vector>

#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// The tensor as a table, a line for each row: its name and shape, then the elements with three decimals. With
/// `row_names`
/// ("the", "quick", ...) each line begins with one. Shows at most 12 rows and 10 columns and says what it left out.
std::string table(const std::string& name, const Tensor& tensor, const std::vector<std::string>& row_names = {});

/// Prints `table`.
void print(const std::string& name, const Tensor& tensor, const std::vector<std::string>& row_names = {});

}  // namespace rungs
