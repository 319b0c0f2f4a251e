#include "rungs/tokenizer/added_tokens.hpp"

#include <algorithm>

namespace rungs {

AddedTokens::AddedTokens(const std::vector<std::pair<std::string, int32_t>>& tokens) {
  for (const auto& [name, id] : tokens) {
    if (name.empty() || !ids_.emplace(name, id).second) continue;
    std::vector<uint32_t>& lengths = lengths_[uint8_t(name[0])];
    const auto at = std::lower_bound(lengths.begin(), lengths.end(), uint32_t(name.size()), std::greater<>());
    if (at == lengths.end() || *at != name.size()) lengths.insert(at, uint32_t(name.size()));
  }
}

std::vector<AddedTokens::Stretch> AddedTokens::parts(std::string_view text) const {
  std::vector<Stretch> parts;
  size_t done = 0;
  const auto close = [&](size_t at) {
    if (at > done) parts.push_back({text.substr(done, at - done), -1});
  };
  for (size_t at = 0; at < text.size();) {
    size_t length = 0;
    for (const uint32_t candidate : lengths_[uint8_t(text[at])]) {
      const std::string_view name = text.substr(at, candidate);
      if (name.size() < candidate) continue;
      const auto found = ids_.find(std::string(name));
      if (found == ids_.end()) continue;
      close(at);
      parts.push_back({name, found->second});
      length = candidate;
      break;
    }
    at += length ? length : 1;
    if (length) done = at;
  }
  close(text.size());
  return parts;
}

std::vector<int32_t> AddedTokens::encode_between(
    std::string_view text, const std::function<std::vector<int32_t>(std::string_view)>& encode) const {
  std::vector<int32_t> ids;
  for (const Stretch& part : parts(text)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else {
      const std::vector<int32_t> between = encode(part.text);
      ids.insert(ids.end(), between.begin(), between.end());
    }
  }
  return ids;
}

}  // namespace rungs
