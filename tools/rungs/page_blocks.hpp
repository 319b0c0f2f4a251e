/// The page of a lesson, walkthrough.md, taken apart: what a terminal and a browser show each in its own way.
#pragma once

#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// A part of a page that stands by itself. Texts have the page's marks.
struct PageBlock {
  /// What it is.
  enum Kind {
    heading,    ///< `text` is its title, `level` 1 for that of the page
    paragraph,  ///< `text`
    item,       ///< of a list: `text`, with its "- " or "1. "
    code,       ///< `lines`, of the page or of a file that it quotes
    table,      ///< `rows`, the first with the titles of the columns
    fold,       ///< what is folded begins; `text` is its title
    fold_end,   ///< and ends
    html,       ///< `text`, as a browser takes it
    drawing,    ///< one that the build makes of `text`, the page's own words for it
    picture,    ///< `text` is the name of a file
    gap         ///< an empty line
  };
  Kind kind;
  std::string text = {};
  int level = 0;
  std::vector<std::string> lines = {};
  std::vector<std::vector<std::string>> rows = {};
};

/// The blocks in their order. \throws FileError when there is no page
std::vector<PageBlock> page_blocks(const Lesson& lesson);

}  // namespace rungs
