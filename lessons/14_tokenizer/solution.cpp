#include <algorithm>

#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_14 {

/// Shows the tokens as they stand.
static void tap_ids(const std::string& name, const std::vector<int32_t>& ids) {
  tap(name.c_str(), Tensor::view_of(ids.data(), {int64_t(ids.size())}, DType::i32));
}

std::vector<int32_t> merge(const BpeTables& bpe, std::string_view piece) {
  std::vector<int32_t> ids;
  // >>> ids = the token of every byte of the piece, in order
  for (const char c : piece) ids.push_back(bpe.byte_tokens[uint8_t(c)]);
  // <<<
  tap_ids("bytes", ids);

  for (int round = 1;; ++round) {
    size_t best = ids.size();  // the place of the pair to merge: ids[best] and ids[best + 1]
    // >>> best = where the pair with the merge of lowest rank stands, the leftmost of equals; unchanged if none merges
    int32_t lowest = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = bpe.merges.find({ids[i], ids[i + 1]});
      if (found == bpe.merges.end()) continue;
      if (best == ids.size() || found->second.rank < lowest) best = i, lowest = found->second.rank;
    }
    // <<<
    if (best == ids.size()) return ids;

    // >>> the two tokens at `best` become the one token of their merge
    ids[best] = bpe.merges.at({ids[best], ids[best + 1]}).token;
    ids.erase(ids.begin() + int64_t(best) + 1);
    // <<<
    tap_ids("merge_" + std::to_string(round), ids);
  }
}

std::vector<int32_t> encode(const BpeTables& bpe, std::string_view text) {
  std::vector<int32_t> ids;
  while (!text.empty()) {
    size_t at = text.size(), length = 0;  // where the next special token begins, and how long its name is
    int32_t special = -1;                 // its id
    // >>> the special token that begins first in text, the longest of those that begin there: at, length, special
    for (const auto& [name, id] : bpe.specials) {
      const size_t begin = text.find(name);
      if (begin < at || (begin == at && name.size() > length)) at = begin, length = name.size(), special = id;
    }
    // <<<

    // >>> cut the text in front of it into pieces (bpe.split), merge each, and append the tokens to ids
    for (const std::string_view piece : bpe.split(text.substr(0, at)))
      for (const int32_t id : merge(bpe, piece)) ids.push_back(id);
    // <<<
    if (special >= 0) ids.push_back(special);
    text.remove_prefix(at + length);
  }
  return ids;
}

std::string decode(const BpeTables& bpe, const std::vector<int32_t>& ids) {
  std::string text;
  // >>> append the bytes of each token (bpe.tokens), but nothing for a special one; .at() checks the id
  for (const int32_t id : ids)
    if (!bpe.is_special(id)) text += bpe.tokens.at(size_t(id));
  // <<<
  return text;
}

size_t character_length(uint8_t first) {
  // >>> 0xxxxxxx: 1; 10xxxxxx: 0; 110xxxxx: 2; 1110xxxx: 3; 11110xxx: 4; all others: 1
  if ((first & 0b11000000) == 0b10000000) return 0;
  if ((first & 0b11100000) == 0b11000000) return 2;
  if ((first & 0b11110000) == 0b11100000) return 3;
  if ((first & 0b11111000) == 0b11110000) return 4;
  return 1;
  // <<<
}

std::string decode_next(const BpeTables& bpe, int32_t id, std::string& held) {
  // >>> add the bytes of the token to those that are held
  held += decode(bpe, {id});
  // <<<

  size_t whole = held.size();  // the bytes that can go out
  // >>> when the last character has begun and is not whole, only what stands in front of it can go out
  for (size_t back = 1; back <= std::min<size_t>(3, held.size()); ++back) {
    const size_t length = character_length(uint8_t(held[held.size() - back]));
    if (length == 0) continue;  // inside a character: look further back for its beginning
    if (length > back) whole -= back;
    break;
  }
  // <<<

  std::string text;
  // >>> text = the first `whole` bytes of held; held keeps the others
  text = held.substr(0, whole);
  held.erase(0, whole);
  // <<<
  return text;
}

/// The tokens of all pieces, one behind the other.
static std::vector<int32_t> joined(const std::vector<std::vector<int32_t>>& all) {
  std::vector<int32_t> ids;
  for (const std::vector<int32_t>& one : all) ids.insert(ids.end(), one.begin(), one.end());
  return ids;
}

std::vector<TokenPair> learn_merges(const std::vector<std::string>& pieces, int number) {
  std::vector<std::vector<int32_t>> all(pieces.size());  // the tokens of each piece
  // >>> all[p] = the bytes of pieces[p], each as its value from 0 to 255
  for (size_t p = 0; p < pieces.size(); ++p)
    for (const char c : pieces[p]) all[p].push_back(uint8_t(c));
  // <<<
  tap_ids("bytes", joined(all));

  std::vector<TokenPair> merges;
  while (int(merges.size()) < number) {
    std::map<TokenPair, int64_t> counts;  // its keys are sorted: by the left id, then by the right
    // >>> counts = how often each pair of neighbours occurs in the pieces
    for (const std::vector<int32_t>& ids : all)
      for (size_t i = 1; i < ids.size(); ++i) ++counts[{ids[i - 1], ids[i]}];
    // <<<
    if (counts.empty()) break;

    TokenPair best = counts.begin()->first;
    // >>> best = the pair with the highest count; of equals, the one that comes first in `counts`
    for (const auto& [pair, count] : counts)
      if (count > counts.at(best)) best = pair;
    // <<<
    merges.push_back(best);

    const int32_t token = 255 + int32_t(merges.size());  // what the two become
    // >>> in every piece, from left to right: two neighbours that are `best` become the one `token`
    for (std::vector<int32_t>& ids : all) {
      std::vector<int32_t> merged;
      for (size_t i = 0; i < ids.size(); ++i) {
        const bool both = i + 1 < ids.size() && ids[i] == best.first && ids[i + 1] == best.second;
        merged.push_back(both ? token : ids[i]);
        if (both) ++i;
      }
      ids = merged;
    }
    // <<<
    tap_ids("learned_" + std::to_string(merges.size()), joined(all));
  }
  return merges;
}

}  // namespace lesson_14
