#include "rungs/tokenizer/added_tokens.hpp"

namespace rungs {

AddedTokens::AddedTokens(std::vector<std::pair<std::string, int32_t>> tokens) : tokens_(std::move(tokens)) {
  std::vector<LongestMatch::Name> names;
  for (const auto& [name, id] : tokens_)
    if (!name.empty()) names.push_back({name, id});
  names_ = LongestMatch(names);
}

std::vector<AddedTokens::Stretch> AddedTokens::parts(std::string_view text) const {
  std::vector<Stretch> parts;
  size_t done = 0;
  const auto close = [&](size_t at) {
    if (at > done) parts.push_back({text.substr(done, at - done), -1});
  };
  for (size_t at = 0; at < text.size();) {
    const LongestMatch::Name* found = names_.find(text.substr(at));
    if (found) {
      close(at);
      parts.push_back({text.substr(at, found->text.size()), found->id});
    }
    at += found ? found->text.size() : 1;
    if (found) done = at;
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
