#include "rungs/base/units.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "rungs/base/error.hpp"

namespace rungs {

namespace {

struct Unit {
  const char* name;
  double size;
};

using Units = std::vector<Unit>;

const Units byte_units = {{"", 1},         {"B", 1},       {"KB", 0x1p10},  {"KiB", 0x1p10}, {"MB", 0x1p20},
                          {"MiB", 0x1p20}, {"GB", 0x1p30}, {"GiB", 0x1p30}, {"TB", 0x1p40},  {"TiB", 0x1p40}};
const Units token_units = {{"", 1}, {"k", 0x1p10}, {"M", 0x1p20}};
const Units count_units = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};

std::string lower(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

int64_t parse(const std::string& field, const std::string& text, const Units& units, const std::string& wanted) {
  const auto fail = [&](const std::string& what) {
    return UsageError(fmt::format("{}: wanted {}, found \"{}\"{}", field, wanted, text, what));
  };
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number)) throw fail("");
  std::string unit(rest, end);
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size() : unit.find_first_not_of(' '));
  for (const Unit& known : units) {
    if (lower(known.name) != lower(unit)) continue;
    const double value = number * known.size;
    if (value < 1) throw fail(", which is less than 1");
    if (value > 0x1p62) throw fail(", which is more than 2^62");
    if (value != std::floor(value)) throw fail(", which is not whole");
    // A whole number without a unit is exact beyond 2^53, too.
    int64_t whole = 0;
    const auto [after, exact] = std::from_chars(text.data(), end, whole);
    return known.size == 1 && after == rest && exact == std::errc() ? whole : int64_t(value);
  }
  std::string list;
  for (const Unit& known : units)
    if (*known.name) list += (list.empty() ? "" : ", ") + std::string(known.name);
  throw fail(fmt::format(": there is no unit \"{}\", but {}", unit, list));
}

}  // namespace

int64_t parse_bytes(const std::string& field, const std::string& text) {
  return parse(field, text, byte_units, "a size such as 80GB");
}

int64_t parse_tokens(const std::string& field, const std::string& text) {
  return parse(field, text, token_units, "a positive whole number such as 4096 or 128k");
}

int64_t parse_count(const std::string& field, const std::string& text) {
  return parse(field, text, count_units, "a positive whole number such as 4096 or 8B");
}

std::string in_units(int64_t bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = double(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  if (unit == 0) return fmt::format("{} bytes", bytes);
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  const size_t sign = number < 0;
  for (size_t at = text.size(); at > sign + 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace rungs
