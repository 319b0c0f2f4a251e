/// Of a set of names, the longest with which a text begins.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rungs {

/// Names and their ids, sorted, so that each further character of a text narrows them down to a part of those that are
/// left: finding one takes as many steps as it has characters, however many begin alike.
class LongestMatch {
 public:
  /// What is found.
  struct Name {
    std::string_view text;  ///< not owned
    int32_t id;
  };

  LongestMatch() = default;
  /// No name is empty. Where several are the same, the first counts.
  explicit LongestMatch(const std::vector<Name>& names);

  bool empty() const { return names_.empty(); }
  size_t size() const { return names_.size(); }  ///< each name once
  /// nullptr: none.
  const Name* find(std::string_view text) const;

 private:
  std::vector<Name> names_;
  std::array<uint32_t, 257> begin_{};  // of those with a first byte
};

}  // namespace rungs
