/// `text == Contains("...")` for std::string.
#pragma once

#include <doctest/doctest.h>

#include <string>

namespace doctest {

inline bool operator==(const std::string& text, const Contains& part) { return part.checkWith(text.c_str()); }

}  // namespace doctest
