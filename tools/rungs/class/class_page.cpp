// The class as a page: one file that needs no net and runs no script.
#include <fmt/format.h>

#include "class_result.hpp"

namespace rungs {

using nlohmann::json;

namespace {

constexpr const char* page_head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The class</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; --ink: #1b2733; --soft: #5d6975; --line: #d5dce3; --back: #ffffff; --card: #f5f7f9;
  --good: #1d7a46; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4eaf0; --soft: #98a5b3; --line: #34404c; --back: #14191f;
  --card: #1c232b; --good: #5ecb8d; --bad: #ff8a80; } }
body { margin: 0 auto; padding: 16px; max-width: 1000px; color: var(--ink); background: var(--back);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5em; margin: .2em 0; } h2 { font-size: 1.15em; margin: 1.6em 0 .4em; }
p { max-width: 75ch; margin: .3em 0; } .soft { color: var(--soft); }
.numbers { display: flex; flex-wrap: wrap; gap: 10px; margin: 1em 0; }
.numbers div { background: var(--card); border-radius: 8px; padding: 8px 16px; }
.numbers b { display: block; font-size: 1.5em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; white-space: nowrap; }
th, td { padding: 5px 10px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td { overflow-wrap: anywhere; } td.name { min-width: 8em; } td.says { min-width: 12em; }
td.lesson { white-space: nowrap; } @media (max-width: 600px) { td.bar, td.lesson, th.lesson { display: none; } }
meter { width: 90px; height: 12px; } .bad { color: var(--bad); } .good { color: var(--good); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--card); padding: 8px; border-radius: 6px;
  font-size: 12.5px; margin: 4px 0; }
summary { cursor: pointer; }
</style></head><body>
)";

std::string html(const json& value) {
  std::string escaped;
  for (const char c : value.get<std::string>())
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += c;
  return escaped;
}

std::string numbers(const json& summary) {
  const size_t n = summary["submissions"].size();
  return fmt::format(
      "<div class=\"numbers\"><div><b>{}</b>submissions</div><div><b>{}</b>with every point</div>"
      "<div><b>{:.1f}%</b>on average</div><div><b>{}</b>not built or not read</div></div>\n",
      n, summary["perfect"].get<size_t>(), summary["mean_percent"].get<double>(), summary["not_built"].size());
}

std::string mistakes_table(const json& mistakes) {
  if (mistakes.empty()) return "<p class=\"soft\">No known mistake was named.</p>\n";
  std::string text =
      "<div class=\"wide\"><table><tr><th class=\"number\">made by</th><th class=\"lesson\">lesson</th><th>your output "
      "is what you get "
      "when</th></tr>\n";
  for (const json& m : mistakes)
    text += fmt::format("<tr><td class=\"number\">{}</td><td class=\"lesson\">{}</td><td class=\"says\">{}</td></tr>\n",
                        m["submissions"].get<size_t>(), html(m["lesson"]), html(m["says"]));
  return text + "</table></div>\n";
}

std::string not_built_table(const json& not_built) {
  if (not_built.empty()) return "<p class=\"soft\">Everything was built.</p>\n";
  std::string text = "<div class=\"wide\"><table><tr><th>name</th><th class=\"lesson\">lesson</th><th>why</th></tr>\n";
  for (const json& n : not_built)
    text += fmt::format("<tr><td class=\"name\">{}</td><td class=\"lesson\">{}</td><td class=\"says\">{}</td></tr>\n",
                        html(n["name"]), html(n["lesson"]), html(n["says"]));
  return text + "</table></div>\n";
}

std::string slowest_table(const json& rows) {
  std::vector<const json*> slow;
  for (const json& r : rows) slow.push_back(&r);
  const auto seconds = [](const json* r) { return (*r)["seconds"].get<double>(); };
  std::stable_sort(slow.begin(), slow.end(), [&](auto* a, auto* b) { return seconds(a) > seconds(b); });
  slow.resize(std::min<size_t>(slow.size(), 5));
  std::string text = "<div class=\"wide\"><table><tr><th>name</th><th class=\"number\">seconds</th></tr>\n";
  for (const json* r : slow)
    text += fmt::format("<tr><td class=\"name\">{}</td><td class=\"number\">{:.1f}</td></tr>\n", html((*r)["name"]),
                        seconds(r));
  return text + "</table></div>\n";
}

std::string story_of(const json& row) {
  std::string text;
  for (const json& l : row["lessons"])
    if (l["story"] != "") text += "<pre>" + html(l["lesson"]) + "\n" + html(l["story"]) + "</pre>";
  return text.empty() ? "" : "<details><summary>the verdict</summary>" + text + "</details>";
}

std::string submissions_table(const json& rows) {
  std::string text =
      "<div class=\"wide\"><table><tr><th>name</th><th class=\"number\">points</th><td class=\"bar\"></td><th>why not "
      "all</th></tr>\n";
  for (const json& r : rows) {
    const bool all = r["passed"] == r["total"];
    text += fmt::format(
        "<tr><td class=\"name\">{}</td><td class=\"number {}\">{}/{}</td><td class=\"bar\"><meter max=\"100\" "
        "value=\"{:.2f}\">"
        "</meter></td><td class=\"says\">{}{}</td></tr>\n",
        html(r["name"]), all ? "good" : "bad", r["passed"].get<size_t>(), r["total"].get<size_t>(),
        r["percent"].get<double>(), html(r["why"]), story_of(r));
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string class_page(const json& summary) {
  return std::string(page_head) + "<h1>The class</h1>\n<p class=\"soft\">" + html(summary["walls"]) + "</p>\n" +
         numbers(summary) + "<h2>Mistakes</h2>\n" + mistakes_table(summary["mistakes"]) + "<h2>Not built</h2>\n" +
         not_built_table(summary["not_built"]) + "<h2>Submissions</h2>\n" + submissions_table(summary["submissions"]) +
         "<h2>Slowest</h2>\n" + slowest_table(summary["submissions"]) + "</body></html>\n";
}

}  // namespace rungs
