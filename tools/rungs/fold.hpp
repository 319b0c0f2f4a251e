/// Text made to fit a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rungs {

/// The lines of a text, those that are wider than `columns` (at least 1) broken, between words where there are any.
/// What sets colours takes no room; a character that begins with several bytes of UTF-8 takes one column.
std::vector<std::string> folded(std::string_view text, size_t columns);

/// At most `rows` lines (at least 3): in place of those in the middle a line says how many there are, and `where` they
/// can be read where `columns` have room for that; the last two stay.
std::vector<std::string> shortened(std::vector<std::string> lines, size_t rows, size_t columns,
                                   const std::string& where);

}  // namespace rungs
