#include "rungs/tokenizer/pre_tokenizer.hpp"

#include <algorithm>

#include "rungs/base/fields.hpp"
#include "rungs/tokenizer/normalizer.hpp"
#include "rungs/tokenizer/split.hpp"

namespace rungs {

using nlohmann::json;

namespace {

struct Split {
  size_t begin, end;
  bool match;
};

/// What becomes of the matches: pieces of their own, or part of what stands before or after them, or nothing.
std::vector<Split> arranged(const std::vector<Split>& parts, const std::string& behavior) {
  if (behavior == "Isolated") return parts;
  std::vector<Split> kept;
  if (behavior == "MergedWithNext") {
    bool after_match = false;  // from right to left
    for (auto p = parts.rbegin(); p != parts.rend(); ++p) {
      if (p->match && !after_match && !kept.empty())
        kept.back().begin = p->begin;
      else
        kept.push_back(*p);
      after_match = p->match;
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }
  bool after_match = false;
  for (const Split& p : parts) {
    const bool joins = behavior == "Contiguous" ? p.match == after_match : p.match && !after_match;
    if (behavior == "Removed" && p.match) continue;
    if (behavior != "Removed" && joins && !kept.empty())
      kept.back().end = p.end;
    else
      kept.push_back(p);
    after_match = p.match;
  }
  return kept;
}

using PieceStep = std::function<void(Pieces&)>;

PieceStep cut_at(const Matcher& matches, const std::string& behavior, bool invert) {
  return [=](Pieces& pieces) {
    std::vector<std::pair<size_t, size_t>> ranges;
    std::vector<Split> parts;
    for (const auto& [from, to] : pieces.ranges) {
      parts.clear();
      const size_t begin_of = from, length = to - from;
      size_t done = 0;
      const auto put = [&](size_t begin, size_t end, bool match) {
        if (end > begin) parts.push_back({begin_of + begin, begin_of + end, match != invert});
      };
      matches(std::string_view(pieces.text).substr(from, length), [&](size_t begin, size_t end) {
        put(done, begin, false);
        put(begin, end, true);
        done = end;
      });
      put(done, length, false);
      for (const Split& p : arranged(parts, behavior)) ranges.emplace_back(p.begin, p.end);
    }
    pieces.ranges = std::move(ranges);
  };
}

Matcher regex(const std::string& expression) {
  return [pattern = Pattern(expression)](std::string_view text, const auto& on_match) {
    pattern.each_match(text, on_match);
  };
}

Matcher literal(const std::string& wanted) { return read_pattern({{"String", wanted}}, ""); }

/// Writes every piece anew.
void rewrite(Pieces& pieces, const std::function<std::string(std::string_view piece, bool first)>& change) {
  std::string text;
  for (auto& [begin, end] : pieces.ranges) {
    const std::string piece =
        change(std::string_view(pieces.text).substr(begin, end - begin), pieces.first && begin == 0);
    begin = text.size();
    text += piece;
    end = text.size();
  }
  pieces.text = std::move(text);
}

PieceStep read_byte_level(const json& description, const std::string& where) {
  const bool space = Fields(description, where).truth("add_prefix_space", true);
  const bool cuts = Fields(description, where).truth("use_regex", true);
  const PieceStep cut = cut_at(regex(gpt2_pattern), "Isolated", false);
  return [=](Pieces& pieces) {
    if (space)
      rewrite(pieces,
              [](std::string_view piece, bool) { return (piece.starts_with(' ') ? "" : " ") + std::string(piece); });
    if (cuts) cut(pieces);
  };
}

PieceStep read_metaspace(const json& description, const std::string& where) {
  const std::string mark = Fields(description, where).text("replacement");
  std::string scheme =
      Fields(description, where).truth("add_prefix_space", true) ? "always" : "never";  // as it was written
  if (description.contains("prepend_scheme")) scheme = Fields(description, where).text("prepend_scheme");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    throw unknown_type(where + ": prepend_scheme", scheme, "always, first, never");
  const bool cuts = Fields(description, where).truth("split", true);
  const Matcher spaces = literal(" ");
  const PieceStep cut = cut_at(literal(mark), "MergedWithNext", false);
  return [=](Pieces& pieces) {
    rewrite(pieces, [&](std::string_view piece, bool first) {
      std::string marked;
      size_t done = 0;
      spaces(piece, [&](size_t begin, size_t end) {
        marked.append(piece.substr(done, begin - done)).append(mark);
        done = end;
      });
      marked.append(piece.substr(done));
      const bool prepends = scheme == "always" || (scheme == "first" && first);
      return prepends && !marked.starts_with(mark) ? mark + marked : marked;
    });
    if (cuts) cut(pieces);
  };
}

PieceStep read_split(const json& description, const std::string& where) {
  const std::string behavior = Fields(description, where).text("behavior");
  static const std::vector<std::string> known = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                                 "Contiguous"};
  if (std::find(known.begin(), known.end(), behavior) == known.end())
    throw unknown_type(where + ": behavior", behavior,
                       "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
  return cut_at(read_pattern(description.value("pattern", json()), where + ": Split"), behavior,
                Fields(description, where).truth("invert", false));
}

}  // namespace

PreTokenizer read_pre_tokenizer(const json& description, const std::string& where) {
  if (description.is_null()) return {[](Pieces&) {}, false};
  const std::string type = Fields(description, where).text("type");
  if (type == "Sequence") {
    std::vector<PieceStep> steps;
    bool byte_level = false;
    for (const json& part : Fields(description, where).list("pretokenizers")) {
      if (byte_level) throw FileError(where + ": ByteLevel must come last");
      PreTokenizer step = read_pre_tokenizer(part, where);
      steps.push_back(std::move(step.cut));
      byte_level = step.byte_level;
    }
    return {[steps](Pieces& pieces) {
              for (const PieceStep& step : steps) step(pieces);
            },
            byte_level};
  }
  if (type == "ByteLevel") return {read_byte_level(description, where), true};
  if (type == "Split") return {read_split(description, where), false};
  if (type == "Metaspace") return {read_metaspace(description, where), false};
  if (type == "Digits") {
    const bool each = Fields(description, where).truth("individual_digits", false);
    return {cut_at(regex("\\p{N}"), each ? "Isolated" : "Contiguous", false), false};
  }
  throw unknown_type(where, type, "Sequence, ByteLevel, Split, Metaspace, Digits");
}

}  // namespace rungs
