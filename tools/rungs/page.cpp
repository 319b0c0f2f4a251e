#include "page.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "fold.hpp"
#include "keyboard.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"
#include "workspace.hpp"

namespace rungs {

namespace fs = std::filesystem;

static std::string page_of(const Lesson& lesson) { return read_text(lesson.page); }

std::vector<Hint> hints_of(const Lesson& lesson) {
  std::vector<Hint> hints;
  const std::string word = lesson.is_stretch() ? "Stretch hint " : "Hint ";
  const std::string begin = "<summary>" + word, title_end = "</summary>", end = "</details>";
  const std::string page = page_of(lesson);
  for (size_t at = 0; (at = page.find(begin, at)) != page.npos;) {
    at += begin.size() - word.size();
    const size_t text = page.find(title_end, at), stop = page.find(end, at);
    if (text == page.npos || stop == page.npos || stop < text) break;
    Hint hint{page.substr(at, text - at), ""};
    std::istringstream lines(page.substr(text + title_end.size(), stop - text - title_end.size()));
    bool code = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("```")) code = !code;
      const bool own_line = code || line.empty() || line.starts_with("```") || line.starts_with("- ");
      if (own_line && !hint.text.empty() && !hint.text.ends_with('\n')) hint.text += '\n';
      hint.text += line + (own_line ? "\n" : " ");
    }
    hint.text.erase(0, hint.text.find_first_not_of('\n'));
    hint.text.erase(hint.text.find_last_not_of(" \n") + 1);
    hints.push_back(std::move(hint));
    at = stop;
  }
  return hints;
}

std::string formula_letters(std::string tex) {
  static const std::pair<const char*, const char*> words[] = {
      {"\\cdot", "·"},   {"\\times", "×"},     {"\\infty", "∞"},      {"\\sqrt", "√"},   {"\\sum", "Σ"},
      {"\\leq", "≤"},    {"\\le", "≤"},        {"\\geq", "≥"},        {"\\ge", "≥"},     {"\\neq", "≠"},
      {"\\ne", "≠"},     {"\\approx", "≈"},    {"\\rightarrow", "→"}, {"\\to", "→"},     {"\\in", "∈"},
      {"\\theta", "θ"},  {"\\epsilon", "ε"},   {"\\varepsilon", "ε"}, {"\\sigma", "σ"},  {"\\mu", "μ"},
      {"\\gamma", "γ"},  {"\\beta", "β"},      {"\\alpha", "α"},      {"\\lambda", "λ"}, {"\\pi", "π"},
      {"\\top", "ᵀ"},    {"\\left", ""},       {"\\right", ""},       {"\\dots", "…"},   {"\\ldots", "…"},
      {"\\cdots", "…"},  {"\\odot", "⊙"},      {"\\tau", "τ"},        {"\\varphi", "φ"}, {"\\kappa", "κ"},
      {"\\circ", "∘"},   {"\\leftarrow", "←"}, {"\\lVert", "‖"},      {"\\rVert", "‖"},  {"\\lfloor", "⌊"},
      {"\\rfloor", "⌋"}, {"\\lceil", "⌈"},     {"\\rceil", "⌉"}};
  static const std::regex fraction("\\\\[dt]?frac\\{([^{}]*)\\}\\{([^{}]*)\\}"),
      grouped("\\\\(mathrm|mathsf|text|mathbf|operatorname|hat|bar|begin|end)\\{([^{}]*)\\}"), name("\\\\([A-Za-z]+)"),
      space("\\\\[,;:! ]"), literal("\\\\([_%#&$])"), below("_\\{([^{}]*)\\}"), root("\\\\sqrt\\{([^{}]*)\\}"),
      rows(" *\\\\\\\\ *"), again("  +"), quad("\\\\q?quad(?![A-Za-z])"),
      digits("\\\\[dt]?frac *([A-Za-z0-9])([A-Za-z0-9])");
  tex = std::regex_replace(tex, quad, "   ");  // before the text that may follow it
  tex = std::regex_replace(tex, digits, "$1/$2");
  tex = std::regex_replace(tex, grouped, "$2");
  tex = std::regex_replace(tex, below, "_$1");
  tex = std::regex_replace(tex, root, "√($1)");
  tex = std::regex_replace(tex, fraction, "($1) / ($2)");
  tex = std::regex_replace(tex, rows, "; ");
  tex = std::regex_replace(tex, space, " ");
  for (const auto& [word, sign] : words)
    tex = std::regex_replace(tex, std::regex(std::string("\\") + word + "(?![A-Za-z])"), sign);
  tex = std::regex_replace(tex, name, "$1");
  tex = std::regex_replace(tex, literal, "$1");
  for (const char* matrix : {"pmatrix", "bmatrix", "cases", "aligned", "matrix"})
    for (size_t at; (at = tex.find(matrix)) != tex.npos;) tex.erase(at, std::string(matrix).size());
  std::replace(tex.begin(), tex.end(), '&', ' ');
  tex.erase(std::remove_if(tex.begin(), tex.end(), [](char c) { return c == '{' || c == '}'; }), tex.end());
  return std::regex_replace(tex, again, "  ");
}

std::string between(const std::string& text, const std::string& begin, const std::string& end,
                    const std::function<std::string(const std::string&)>& change) {
  std::string out;
  size_t from = 0;
  for (size_t at; (at = text.find(begin, from)) != text.npos;) {
    const size_t inside = at + begin.size(), stop = text.find(end, inside);
    if (stop == text.npos) break;
    out += text.substr(from, at - from) + change(text.substr(inside, stop - inside));
    from = stop + end.size();
  }
  return out + text.substr(from);
}

std::string plain_words(const std::string& text, bool colour) {
  static const std::regex tag("</?[a-z]+( [^<>]*)?>"), reference("@ref lesson_([0-9]+b?)_\\w+"), other("@ref (\\w+)"),
      block("\\\\f\\{[a-z]+\\*?\\}\\{"), block_end("\\\\f\\}"), escaped("\\\\([_*`#<>&])"),
      link("!?\\[([^\\]]*)\\]\\([^)]*\\)");
  const auto styled = [&](fmt::text_style style) {
    return [=](const std::string& t) { return colour ? fmt::format(style, "{}", t) : t; };
  };
  std::vector<std::string> code;  // as it is: no mark in it means anything
  std::string out = between(text, "`", "`", [&](const std::string& t) {
    code.push_back(styled(fmt::fg(fmt::terminal_color::cyan))(t));
    return fmt::format("\x01{}\x02", code.size() - 1);
  });
  out = std::regex_replace(std::regex_replace(out, block, "\\f["), block_end, "\\f]");
  for (const char* end : {"\\f$", "\\f]"}) out = between(out, end[2] == '$' ? "\\f$" : "\\f[", end, formula_letters);
  out = between(out, "**", "**", styled(fmt::emphasis::bold));
  out = std::regex_replace(out, reference, "lesson $1");
  out = std::regex_replace(out, other, "$1");
  out = std::regex_replace(out, escaped, "$1");
  out = std::regex_replace(out, link, "$1");
  out = std::regex_replace(out, tag, "");
  static const std::regex emphasis("(^|[ (])\\*([^* ][^*]*)\\*");
  out = std::regex_replace(out, emphasis, "$1$2");
  for (const auto& [name, sign] : {std::pair("&lt;", "<"), {"&gt;", ">"}, {"&amp;", "&"}, {"&nbsp;", " "}})
    out = std::regex_replace(out, std::regex(name), sign);
  return between(out, "\x01", "\x02", [&](const std::string& n) { return code[std::stoul(n)]; });
}

static bool is_set(const char* name) { return std::getenv(name) && *std::getenv(name); }

bool has_browser() { return is_set("BROWSER") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"); }

bool open_in_browser(const fs::path& page) {
  if (is_set("BROWSER"))
    return run_in_foreground({"sh", "-c", std::string(std::getenv("BROWSER")) + " \"$0\"", page.string()});
  if (!has_browser()) return false;
  return run_in_foreground({"sh", "-c", "exec xdg-open \"$0\" >/dev/null 2>&1", page.string()});
}

fs::path browser_page(const Lesson& lesson) {
  const std::string name = lesson.page.parent_path().filename();
  const fs::path build = RUNGS_BINARY_DIR, site = build / "docs/html" / ("lesson_" + name + ".html");
  if (fs::exists(site)) return site;
  const fs::path page = build / "pages" / (name + ".html");
  write_where_different(page, page_html(lesson));
  return page;
}

}  // namespace rungs
