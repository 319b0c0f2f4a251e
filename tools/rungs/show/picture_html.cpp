// Pictures as a page: inline SVG, colours as variables of CSS, a few lines of script that name the cell pointed at.
#include <fmt/format.h>

#include <algorithm>

#include "picture.hpp"
#include "picture_svg.hpp"

namespace rungs {

namespace {

/// All rules begin with .rungs-show, so that they touch nothing of a page around. doxygen-awesome says with a class of
/// the page whether it is dark; elsewhere the browser does.
constexpr const char* style = R"(<style>
.rungs-show { --ink: #1b2733; --soft: #6b7885; --line: #d5dce3; --back: #ffffff; --more: #1261a6; --less: #b3261e;
  color: var(--ink); font: 14px/1.45 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { html:not(.light-mode) .rungs-show { --ink: #e4eaf0; --soft: #98a5b3;
  --line: #34404c; --back: #14191f; --more: #6db8ff; --less: #ff8a80; } }
html.dark-mode .rungs-show { --ink: #e4eaf0; --soft: #98a5b3; --line: #34404c; --back: #14191f; --more: #6db8ff;
  --less: #ff8a80; }
.rungs-show h1 { font-size: 1.4em; margin: 0 0 .2em; } .rungs-show h2 { font-size: 1.1em; margin: 1.6em 0 .2em; }

.rungs-show h4 { font-size: 1em; margin: 1.2em 0 .2em; } .rungs-show p { margin: .2em 0; max-width: 75ch; } .rungs-show .from, .rungs-show .note { color: var(--soft); }
.rungs-show .pictures { display: flex; flex-wrap: wrap; gap: 12px 10px; align-items: flex-start; }
.rungs-show figure { margin: .6em 0 0; max-width: 100%; overflow-x: auto; }
.rungs-show figcaption { font-size: 13px; font-weight: 600; color: var(--ink); text-align: left; }
.rungs-show svg { display: block; } .rungs-show svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
.rungs-show .grid { fill: none; stroke: var(--line); } .rungs-show .axis { stroke: var(--soft); fill: none; }
.rungs-show svg text.soft { fill: var(--soft); } .rungs-show .more { fill: var(--more); } .rungs-show .less { fill: var(--less); }
.rungs-show .zero { stroke: var(--soft); stroke-width: 1.6; stroke-linecap: round; fill: none; }
.rungs-show .mark { fill: none; stroke: var(--less); stroke-width: 1.4; } .rungs-show .none { fill: var(--line); }
.rungs-show .tip { position: fixed; z-index: 9; pointer-events: none; padding: 3px 8px; border-radius: 4px; display: none;
  background: var(--ink); color: var(--back); font-size: 12px; }
</style>
)";

/// A matrix has its numbers in data-values and its names in data-rows and data-columns.
constexpr const char* script = R"(<script>
(() => {
  const tip = document.currentScript.parentElement.querySelector('.tip');
  for (const svg of document.currentScript.parentElement.querySelectorAll('svg.matrix')) {
    const d = svg.dataset, rows = JSON.parse(d.rows), columns = JSON.parse(d.columns), values = d.values.split(',');
    svg.addEventListener('pointermove', event => {
      const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const c = Math.floor((p.x - d.left) / d.width), r = Math.floor((p.y - d.top) / d.height);
      const inside = r >= 0 && r < rows.length && c >= 0 && c < columns.length;
      tip.style.display = inside ? 'block' : 'none';
      if (!inside) return;
      tip.textContent = `${d.rowIs} ${rows[r]} (${r}), ${d.columnIs} ${columns[c]} (${c}): ${values[r * columns.length + c]}`;
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)) + 'px';
      tip.style.top = (event.clientY + 16) + 'px';
    });
    svg.addEventListener('pointerleave', () => tip.style.display = 'none');
  }
})();
</script>
)";

/// What the shades of a section mean, in its own colours.
std::string legend_of(const Section& section) {
  for (const Picture& picture : section.pictures) {
    const auto* m = std::get_if<Matrix>(&picture);
    if (!m || m->shades == Shades::kind) continue;
    const bool sign = m->shades == Shades::sign;
    std::string svg = fmt::format("<svg width=\"{0}\" height=\"22\" viewBox=\"0 0 {0} 22\">", sign ? 380 : 240);
    svg += "<path class=\"zero\" d=\"M8 10h0\"/><text x=\"16\" y=\"14\">exactly 0</text>";
    const int from = sign ? -svg_levels : 1;
    for (int level = from, x = 80; level <= svg_levels; ++level) {
      if (level == 0) continue;
      svg += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"3\" width=\"8\" height=\"14\" fill-opacity=\"{:.2f}\"/>",
                         level < 0 ? "less" : "more", x, std::abs(level) / double(svg_levels));
      x += 8;
    }
    return svg + fmt::format("<text x=\"{}\" y=\"14\">{} to {:.3g}</text></svg>\n", sign ? 280 : 184,
                             sign ? fmt::format("{:.3g}", -scale_of(*m)) : "0", scale_of(*m));
  }
  return "";
}

/// The sections; `heading` is the element of their titles.
std::string sections_of(const Drawing& drawing, const char* heading) {
  check_sizes(drawing);
  std::string html, last;  // a legend that still holds is not said again
  for (const Section& section : drawing.sections) {
    html += fmt::format("<section>\n<{0}>{1}</{0}>\n", heading, escaped(section.heading));
    if (!section.text.empty()) html += fmt::format("<p>{}</p>\n", escaped(section.text));
    const std::string legend = legend_of(section);
    html += (legend == last ? "" : legend) + "<div class=\"pictures\">\n";
    for (const Picture& picture : section.pictures)
      html += std::visit([](const auto& p) { return to_svg(p); }, picture);
    html += "</div>\n</section>\n";
    last = legend;
  }
  return html;
}

std::string content(const Drawing& drawing) {
  std::string html = fmt::format("<h1>{}</h1>\n<p class=\"from\">Drawn from {}.</p>\n", escaped(drawing.title),
                                 escaped(drawing.drawn_from));
  for (const std::string& note : drawing.notes) html += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
  return html + sections_of(drawing, "h2");
}

}  // namespace

std::string to_fragment(const Drawing& drawing) {
  return std::string(style) + "<div class=\"rungs-show\">\n" + sections_of(drawing, "h4") +
         "<div class=\"tip\"></div>\n" + script + "</div>\n";
}

std::string to_page(const Drawing& drawing) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n{}"
      "<style>html {{ background: #ffffff; }} @media (prefers-color-scheme: dark) {{ html {{ background: #14191f; }} "
      "}}\n"
      "body {{ margin: 18px auto; padding: 0 16px; max-width: 1400px; }}</style>\n</head>\n<body>\n"
      "<div class=\"rungs-show\">\n{}<div class=\"tip\"></div>\n{}</div>\n</body>\n</html>\n",
      escaped(drawing.title), style, content(drawing), script);
}

}  // namespace rungs
