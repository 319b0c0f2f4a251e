/// Words and lines as a person reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rungs {

/// "8.731e-05", "nan", "-inf", "3"
std::string number(double x);

/// "a, b and c"
std::string join(const std::vector<std::string>& words);

/// The text of a file or a name for a terminal: spaces for the characters that would command it.
std::string printable(std::string_view text);

/// Breaks text into lines of at most `width` characters, each after `indent`.
std::string wrapped(const std::string& text, size_t width, const std::string& indent);

}  // namespace rungs
