/// The page of a lesson, walkthrough.md, as a terminal shows it.
#pragma once

#include <string>
#include <vector>

#include "rungs/grader/lesson.hpp"

namespace rungs {

/// One of those that the page keeps folded.
struct Hint {
  std::string title;  ///< "Hint 1: which elements"
  std::string text;   ///< a paragraph a line, with the page's marks
};

/// In the page's order. \throws FileError when there is no page
std::vector<Hint> hints_of(const Lesson& lesson);

/// A paragraph of a page, set for a terminal: formulas as letters, no marks; code and what is bold in colour.
std::string plain_words(const std::string& text, bool colour);

/// The whole page, `columns` wide at most where its text allows, without what is folded. \throws FileError
std::string page_text(const Lesson& lesson, size_t columns, bool colour);

/// The page of the site, where `make docs` has made it; else empty.
std::filesystem::path site_page(const Lesson& lesson);

/// Opens a file in the browser of this desktop; false where there is none.
bool open_in_browser(const std::filesystem::path& page);

}  // namespace rungs
