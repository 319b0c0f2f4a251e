/// The page of a lesson, walkthrough.md, as a terminal shows it.
#pragma once

#include <functional>
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

/// The same page as one HTML file that needs no other: light and dark, formulas as letters, hints folded. \throws
/// FileError
std::string page_html(const Lesson& lesson);

/// The file for a browser: the page of the site, where `make docs` has made it, else page_html, written into the build
/// folder. \throws FileError
std::filesystem::path browser_page(const Lesson& lesson);

/// $BROWSER, or that of a desktop.
bool has_browser();

/// Opens a file in it; false where there is none.
bool open_in_browser(const std::filesystem::path& page);

/// TeX as letters: "\frac{a}{b}" as "(a) / (b)", "x_{t,s}" as "x_t,s", names of Greek letters and signs as these.
std::string formula_letters(std::string tex);

/// Every text between two marks, through `change`, in place of it and the marks.
std::string between(const std::string& text, const std::string& begin, const std::string& end,
                    const std::function<std::string(const std::string&)>& change);

}  // namespace rungs
