/// Lesson 14: text to tokens and back, by byte-level byte-pair encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rungs/tokenizer/bpe_tables.hpp"

/// Lesson 14, 14_tokenizer.
namespace lesson_14 {

using namespace rungs;

/// The tokens of one piece of text. It begins as one token for each byte; as long as two neighbours have a merge, those
/// whose merge has the lowest rank become one, the leftmost of equals.
/// Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword Units", algorithm 1.
std::vector<int32_t> merge(const BpeTables& bpe, std::string_view piece);

/// The tokens of a text, without BOS. Special tokens that are written in it become one token each; what stands between
/// them is cut into pieces, and each piece is merged by itself.
std::vector<int32_t> encode(const BpeTables& bpe, std::string_view text);

/// The bytes of the tokens in a row; special tokens have none.
/// \throws std::out_of_range for an id outside the vocabulary
std::string decode(const BpeTables& bpe, const std::vector<int32_t>& ids);

/// How many bytes the UTF-8 character has that begins with this byte; 0 for a byte that stands inside a character, and
/// 1 for one that stands in none.
size_t character_length(uint8_t first);

/// Streaming: takes the next token and returns the text that can be shown now. The bytes of a last character that is
/// not whole yet stay in `held`, for the next call.
std::string decode_next(const BpeTables& bpe, int32_t id, std::string& held);

/// Learns the first merges of a text, which is given as its pieces, as often as they occur. A byte is the id 0 to 255,
/// and merge i makes the id 256 + i. Each merge is the most frequent pair of neighbours inside the pieces, and is
/// applied to all of them before the next is counted. Of pairs that are equally frequent, the one with the smaller left
/// id is taken, then the one with the smaller right id. There are fewer than `number` where no neighbours are left.
/// Sennrich, Haddow, Birch 2016, algorithm 1, on bytes.
std::vector<TokenPair> learn_merges(const std::vector<std::string>& pieces, int number);

}  // namespace lesson_14
