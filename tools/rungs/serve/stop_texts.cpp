#include "stop_texts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace rungs {

std::string StopTexts::add(const std::string& piece) {
  if (found_) return "";
  held_ += piece;
  size_t end = held_.npos;
  for (const std::string& stop : stops_) end = std::min(end, held_.find(stop));
  found_ = end != held_.npos;
  for (size_t first = 0; !found_ && end == held_.npos && first < held_.size(); ++first)
    for (const std::string& stop : stops_)
      if (stop.starts_with(std::string_view(held_).substr(first))) end = first;
  std::string shown = held_.substr(0, end);
  held_ = found_ || end == held_.npos ? "" : held_.substr(end);
  return shown;
}

std::string StopTexts::rest() { return std::exchange(held_, ""); }

}  // namespace rungs
