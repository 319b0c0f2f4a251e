/// The "pre_tokenizer" of a tokenizer.json: how a text is cut into the pieces that are merged each by itself.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rungs {

/// A text and the pieces [begin, end) of it that are left.
struct Pieces {
  std::string text;
  std::vector<std::pair<size_t, size_t>> ranges;
  bool first = true;  ///< the whole text begins here: no added token stands before it
};

/// What the description amounts to.
struct PreTokenizer {
  std::function<void(Pieces&)> cut;
  bool byte_level = false;  ///< tokens are written in the byte-level alphabet
};

/// \throws FileError naming what is unknown, and all that is known.
PreTokenizer read_pre_tokenizer(const nlohmann::json& description, const std::string& where);

}  // namespace rungs
