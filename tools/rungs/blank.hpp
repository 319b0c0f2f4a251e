/// A starter without what it gives.
#pragma once

#include <string>

namespace rungs {

/// Every function of a starter that has a step is its signature alone; what has none stays.
std::string blank(const std::string& starter);

}  // namespace rungs
