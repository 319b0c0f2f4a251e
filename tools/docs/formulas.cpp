#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "check_docs.hpp"
#include "rungs/base/file.hpp"

namespace {

/// How many formulas a page hands to MathJax: \( ... \) in a line, or a paragraph of its own.
size_t formulas_in(const std::string& html) {
  size_t n = 0;
  read_html(
      html, [&](const Tag& tag) { n += tag.attributes.count("class") && tag.attributes.at("class") == "formulaDsp"; },
      [&](std::string_view text, bool in_code) {
        for (size_t at = 0; !in_code && (at = text.find("\\(", at)) != text.npos; at += 2) ++n;
      });
  return n;
}

/// The page as it stands in the browser after all scripts have run. No host can be reached from there.
std::string drawn(const Path& page) {
  const std::string command = fmt::format(
      "timeout 120 chromium --headless --disable-gpu {} --host-resolver-rules='MAP * ~NOTFOUND' "
      "--virtual-time-budget=60000 --dump-dom 'file://{}' 2>/dev/null",
      geteuid() == 0 ? "--no-sandbox" : "", std::filesystem::absolute(page).string());
  std::string html;
  if (FILE* browser = popen(command.c_str(), "r")) {
    char part[65536];
    while (const size_t n = fread(part, 1, sizeof part, browser)) html.append(part, n);
    pclose(browser);
  }
  return html;
}

/// Reads a drawn page. MathJax puts a formula's source into a script behind its picture, and draws an error as red text
/// on this yellow.
class DrawnFormulas {
 public:
  explicit DrawnFormulas(const std::string& dom) : dom_(dom) {
    read_html(
        dom, [&](const Tag& tag) { read(tag); },
        [&](std::string_view text, bool) {
          if (in_message_) message_ = text;
          in_message_ = false;
        });
  }

  size_t drawn = 0;
  Problems problems;

 private:
  void read(const Tag& tag) {
    const auto attribute = [&](const char* name) {
      const auto found = tag.attributes.find(name);
      return found == tag.attributes.end() ? "" : found->second;
    };
    if (tag.name == "svg" && attribute("role") == "img") picture_ = true;
    if (tag.name == "rect" && attribute("fill") == "rgb(255, 255, 136)") error_ = true;
    if (tag.name == "text" && error_) in_message_ = true;
    if (tag.name != "script") return;
    if (attribute("src").starts_with("http")) problems.push_back("loads " + attribute("src") + " from the net");
    if (!attribute("type").starts_with("math/tex")) return;
    drawn += picture_;
    if (error_) problems.push_back(fmt::format("{} in the formula {}", message_, source(attribute("id"))));
    picture_ = error_ = false;
  }

  std::string source(const std::string& id) const {
    const size_t at = dom_.find("id=\"" + id + "\">");
    if (at == dom_.npos) return "";
    const size_t begin = dom_.find('>', at) + 1;
    return dom_.substr(begin, dom_.find("</script>", begin) - begin);
  }

  const std::string& dom_;
  bool picture_ = false, error_ = false, in_message_ = false;
  std::string message_;
};

}  // namespace

int check_formulas(const Path& site, Problems& problems) {
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) return -1;
  int seen = 0;
  for (const Path& page : files_below(site, {".html"})) {
    const size_t formulas = formulas_in(rungs::read_text(page));
    if (formulas == 0) continue;
    const std::string dom = drawn(page);
    DrawnFormulas found(dom);
    if (found.drawn != formulas)
      found.problems.push_back(fmt::format("{} of {} formulas were drawn", found.drawn, formulas));
    for (const std::string& problem : found.problems)
      problems.push_back(fmt::format("{}: {}", page.filename().string(), problem));
    seen += int(formulas);
  }
  return seen;
}
