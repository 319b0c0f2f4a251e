/// Numbers with units, as people write and read them.
#pragma once

#include <cstdint>
#include <string>

namespace rungs {

/// \name Reading
/// `field` stands in the errors. \throws UsageError for what is no number, a unit that does not exist, a fraction of
/// the smallest unit, less than 1, and more than 2⁶² of it.
///@{
int64_t parse_bytes(const std::string& field,
                    const std::string& text);  ///< "80GB", "1.5TiB": GB is 2³⁰, as a GPU's 80 GB are; GiB too
int64_t parse_tokens(const std::string& field, const std::string& text);  ///< "4096", "128k": k is 2¹⁰, M is 2²⁰
int64_t parse_count(const std::string& field, const std::string& text);  ///< "8B", "405M": B is 10⁹, M is 10⁶, k is 10³
///@}

/// "4.7 MiB": a power of 1024, three digits.
std::string in_units(int64_t bytes);

/// "1,234,567"
std::string with_commas(int64_t number);

/// GiB, of 2³⁰ bytes.
constexpr double in_gib(double bytes) { return bytes / (1 << 30); }

}  // namespace rungs
