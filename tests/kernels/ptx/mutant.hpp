/// Deliberate faults in the PTX, with which the tests test themselves.
#pragma once

#include <string>
#include <string_view>

namespace rungs::ptx {

/// The module's text, changed as RUNGS_PTX_MUTANT says: `KERNEL|WHICH|FIND|REPLACEMENT`. In each kernel whose name
/// contains KERNEL, of the lines that the regular expression FIND matches, number WHICH (from 1; 0: every one) gets the
/// REPLACEMENT. Says on stderr how many lines were changed, if any.
std::string mutated(std::string_view text);

}  // namespace rungs::ptx
