// What Doxygen does not see: each check adds a sentence for each fault that it finds.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rungs/grader/lesson.hpp"

using Path = std::filesystem::path;
using Problems = std::vector<std::string>;

/// <NAME ATTRIBUTE="VALUE" ...>
struct Tag {
  std::string name;
  std::map<std::string, std::string> attributes;
};

/// Calls `on_tag` for every tag of a page and `on_text` for the text between two, scripts and style sheets left out.
/// `in_code` says whether the text is code.
void read_html(const std::string& html, const std::function<void(const Tag&)>& on_tag,
               const std::function<void(std::string_view text, bool in_code)>& on_text);

/// All files below a directory with one of these extensions, sorted; MathJax is not ours to check.
std::vector<Path> files_below(const Path& directory, const std::vector<std::string>& extensions);

/// Dead links and anchors, missing files, and whatever loads from the net, in pages, pictures, sheets and scripts.
void check_links(const Path& site, Problems& problems);

/// Markup that did not turn into a page: images, code fences, tables, formulas, commands of Doxygen.
void check_leftovers(const Path& site, Problems& problems);

/// Every lesson's page has all its parts, and every heading that a known mistake tells to read.
void check_lesson_pages(const std::vector<rungs::Lesson>& lessons, Problems& problems);

/// Of every stretch the page of its lesson says how to start it, and has the headings that its mistakes tell to read.
void check_stretches(const std::vector<rungs::Lesson>& stretches, Problems& problems);

/// Every piece of code that a page quotes by its first and last line is still in the file that it names.
void check_quotes(const Path& source, Problems& problems);

/// Lets a browser draw the pages with formulas and looks at the result. Returns how many formulas were seen, or -1 when
/// there is no browser.
int check_formulas(const Path& site, Problems& problems);
