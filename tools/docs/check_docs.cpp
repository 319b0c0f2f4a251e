// check_docs SOURCE BUILD: looks at the site in BUILD/docs/html and at the lessons' pages in SOURCE, and says what is
// wrong with them. Doxygen itself has passed them by then.
#include "check_docs.hpp"

#include <fmt/format.h>

int main(int count, char** arguments) try {
  if (count != 3) throw std::runtime_error("usage: check_docs SOURCE BUILD");
  const Path source = arguments[1], build = arguments[2], site = build / "docs/html";
  Problems problems;
  check_lesson_pages(rungs::find_lessons(source, build), problems);
  check_stretches(rungs::find_stretches(source, build), problems);
  check_quotes(source, problems);
  check_links(site, problems);
  check_leftovers(site, problems);
  const int formulas = check_formulas(site, problems);

  for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
  if (formulas < 0)
    fmt::print("SKIPPED: whether formulas render; that needs the program chromium\n");
  else
    fmt::print("{} formulas drawn by a browser\n", formulas);
  fmt::print("{} pages, {} problems: {}\n", files_below(site, {".html"}).size(), problems.size(),
             (site / "index.html").string());
  return problems.empty() ? 0 : 1;
} catch (const std::exception& e) {
  fmt::print(stderr, "check_docs: {}\n", e.what());
  return 1;
}
