// A page by itself, for a browser: one file, nothing from the net.
#include <fmt/format.h>

#include <regex>

#include "page.hpp"
#include "page_blocks.hpp"
#include "rungs/base/file.hpp"
#include "show/picture_svg.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

namespace {

constexpr const char* page_style = R"(<style>
:root { color-scheme: light dark; --ink: #1b2733; --soft: #5d6a77; --line: #d5dce3; --back: #ffffff; --code: #f3f5f8; --link: #1261a6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4eaf0; --soft: #98a5b3; --line: #34404c; --back: #14191f;
  --code: #1d242c; --link: #6db8ff; } }
html { background: var(--back); color: var(--ink); font: 17px/1.6 system-ui, sans-serif; }
body { margin: 24px auto 60px; padding: 0 16px; max-width: 46rem; overflow-wrap: break-word; }
h1 { font-size: 1.7em; line-height: 1.25; } h2 { font-size: 1.3em; margin: 2em 0 .5em; } h3 { font-size: 1.1em; }
a { color: var(--link); } code { font: .88em/1.45 ui-monospace, monospace; background: var(--code); padding: .1em .25em; border-radius: 3px; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; overflow-x: auto; }
pre code { padding: 0; background: none; font-size: 13px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .8em 0; }
th, td { border: 1px solid var(--line); padding: .3em .6em; text-align: left; vertical-align: top; overflow-wrap: normal; }
.formula { font-family: "STIX Two Math", "Cambria Math", serif; font-style: italic; }
.display { display: block; margin: .8em 0; text-align: center; overflow-x: auto; font-size: 1.08em; }
details { border: 1px solid var(--line); border-radius: 6px; padding: 0 12px; margin: .8em 0; }
summary { cursor: pointer; padding: .5em 0; font-weight: 600; } .note { color: var(--soft); font-size: .92em; }
</style>
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

/// As plain_words has it; what stands above or below in the formula is set so.
std::string formula_html(std::string tex, const char* kind) {
  static const std::regex below("([^\\\\])_\\{([^{}]*)\\}"), one_below("([^\\\\])_([A-Za-z0-9])"),
      above("\\^\\{([^{}]*)\\}"), one_above("\\^(\\\\top|[A-Za-z0-9])");
  tex = std::regex_replace(tex, below, "$1\uE000$2\uE001");
  tex = std::regex_replace(tex, one_below, "$1\uE000$2\uE001");
  tex = std::regex_replace(tex, above, "\uE002$1\uE003");
  tex = std::regex_replace(tex, one_above, "\uE002$1\uE003");
  std::string html = escaped(formula_letters(tex));
  for (const auto& [mark, tag] :
       {std::pair("\uE000", "<sub>"), {"\uE001", "</sub>"}, {"\uE002", "<sup>"}, {"\uE003", "</sup>"}})
    html = replaced(html, mark, tag);
  return fmt::format("<span class=\"{}\">{}</span>", kind, html);
}

/// Pieces that are ready, while the text around them still has marks.
class Ready {
 public:
  std::string keep(const std::string& html) {
    pieces_.push_back(html);
    return fmt::format("\x01{}\x02", pieces_.size() - 1);
  }
  std::string put_back(const std::string& text) const {
    return between(text, "\x01", "\x02", [&](const std::string& n) { return pieces_[std::stoul(n)]; });
  }

 private:
  std::vector<std::string> pieces_ = {};
};

/// A paragraph with its marks as HTML. Tags and entities of the page stay.
std::string words_html(const std::string& text) {
  static const std::regex reference("@ref lesson_([0-9]+b?)_\\w+"), other("@ref (\\w+)"),
      block("\\\\f\\{[a-z]+\\*?\\}\\{"), block_end("\\\\f\\}"), sign("\\\\([_*`#&])"), less("<(?![a-zA-Z/])"),
      ampersand("&(?![a-z]+;|#[0-9]+;)"), link("!?\\[([^\\]]*)\\]\\((https?:[^)]*)\\)"),
      inside_link("!?\\[([^\\]]*)\\]\\([^)]*\\)"), bold("\\*\\*([^*]+)\\*\\*"), emphasis("(^|[ (>])\\*([^* ][^*]*)\\*");
  Ready ready;
  std::string out =
      between(text, "`", "`", [&](const std::string& t) { return ready.keep("<code>" + escaped(t) + "</code>"); });
  out = std::regex_replace(std::regex_replace(out, block, "\\f["), block_end, "\\f]");
  out = between(out, "\\f$", "\\f$", [&](const std::string& t) { return ready.keep(formula_html(t, "formula")); });
  out = between(out, "\\f[", "\\f]",
                [&](const std::string& t) { return ready.keep(formula_html(t, "formula display")); });
  out = std::regex_replace(out, sign, "\x07$1");
  out = std::regex_replace(std::regex_replace(out, ampersand, "&amp;"), less, "&lt;");
  out = std::regex_replace(out, bold, "<b>$1</b>");
  out = std::regex_replace(out, emphasis, "$1<em>$2</em>");
  out = std::regex_replace(out, link, "<a href=\"$2\">$1</a>");
  out = std::regex_replace(out, inside_link, "$1");
  out = std::regex_replace(out, reference, "lesson $1");
  out = std::regex_replace(out, other, "$1");
  return ready.put_back(replaced(out, "\x07", ""));
}

std::string table_html(const PageBlock& table) {
  std::string html = "<div class=\"wide\"><table>\n";
  for (size_t r = 0; r < table.rows.size(); ++r) {
    html += "<tr>";
    for (const std::string& cell : table.rows[r])
      html += fmt::format("<{0}>{1}</{0}>", r == 0 ? "th" : "td", words_html(cell));
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

/// A list of one item; those that follow each other are one list.
void add_item(std::string& out, const std::string& text) {
  const bool numbered = isdigit(text[0]);
  const std::string tag = numbered ? "ol" : "ul", end = "</" + tag + ">\n";
  const size_t space = text.find(' ');
  const std::string item = "<li>" + words_html(text.substr(space + 1)) + "</li>\n";
  if (out.ends_with(end))
    out.replace(out.size() - end.size(), end.size(), item + end);
  else
    out += fmt::format("<{}{}>\n", tag, numbered ? fmt::format(" start=\"{}\"", std::stoi(text)) : "") + item + end;
}

/// A drawing of the build, where it has made one.
std::string drawing_html(const std::string& name) {
  const fs::path made = fs::path(RUNGS_BINARY_DIR) / "docs/made" / name;
  if (name.ends_with(".html") && fs::exists(made)) return read_text(made);
  return "<p class=\"note\">(Here the site, which <code>make docs</code> makes, has a drawing.)</p>\n";
}

std::string picture_html(const std::string& name) {
  for (const char* folder : {RUNGS_BINARY_DIR "/docs/made", RUNGS_SOURCE_DIR "/bench/results"}) {
    const fs::path file = fs::path(folder) / name;
    if (!name.ends_with(".svg") || !fs::exists(file)) continue;
    const std::string svg = read_text(file);
    return "<div class=\"wide\">" + svg.substr(std::min(svg.find("<svg"), svg.size())) + "</div>\n";
  }
  return "<p class=\"note\">(Here the site, which <code>make docs</code> makes, has a picture.)</p>\n";
}

std::string block_html(const PageBlock& b) {
  switch (b.kind) {
    case PageBlock::heading:
      return fmt::format("<h{0}>{1}</h{0}>\n", b.level, words_html(b.text));
    case PageBlock::paragraph:
      return "<p>" + words_html(b.text) + "</p>\n";
    case PageBlock::code: {
      std::string html = "<pre><code>";
      for (const std::string& line : b.lines) html += escaped(line) + "\n";
      return html + "</code></pre>\n";
    }
    case PageBlock::table:
      return table_html(b);
    case PageBlock::fold:
      return "<details><summary>" + words_html(b.text) + "</summary>\n";
    case PageBlock::fold_end:
      return "</details>\n";
    case PageBlock::html:
      return "<div class=\"wide\">" + b.text + "</div>\n";
    case PageBlock::drawing:
      return drawing_html(b.text);
    case PageBlock::picture:
      return picture_html(b.text);
    case PageBlock::item:
    case PageBlock::gap:
      break;
  }
  return "";
}

}  // namespace

std::string page_html(const Lesson& lesson) {
  std::string body, title = lesson.name;
  for (const PageBlock& b : page_blocks(lesson)) {
    if (b.kind == PageBlock::heading && b.level == 1) title = plain_words(b.text, false);
    if (b.kind == PageBlock::item)
      add_item(body, b.text);
    else
      body += block_html(b);
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n{}</head>\n<body>\n{}"
      "</body>\n</html>\n",
      escaped(title), page_style, body);
}

}  // namespace rungs
