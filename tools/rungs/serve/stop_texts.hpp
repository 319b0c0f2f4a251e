/// Ends a text before the first of some strings, while it comes in pieces.
#pragma once

#include <string>
#include <vector>

namespace rungs {

/// Holds back what may be the beginning of a stop text.
class StopTexts {
 public:
  explicit StopTexts(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// What can be shown after `piece`. Once a stop text was found, nothing.
  std::string add(const std::string& piece);
  /// What was held back, when nothing more comes.
  std::string rest();
  bool found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_ = {};
  bool found_ = false;
};

}  // namespace rungs
