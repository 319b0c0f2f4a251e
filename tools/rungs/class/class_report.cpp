// The class as numbers: CSV, JSON and JUnit's XML.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "class_result.hpp"

namespace rungs {

using nlohmann::json;

namespace {

/// A field of a table. A spreadsheet takes what begins with = + - @ for a formula, so a quote stands before it.
std::string csv_field(std::string text) {
  if (!text.empty() && std::string("=+-@").find(text[0]) != std::string::npos) text = "'" + text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.find_first_of(",\"") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const std::map<char, const char*> names = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    const auto it = names.find(c);
    escaped += it != names.end() ? std::string(it->second) : c == '\n' ? std::string("&#10;") : std::string(1, c);
  }
  return escaped;
}

double percent(const json& result) {
  const auto total = result["total"].get<double>();
  return total > 0 ? 100 * result["passed"].get<double>() / total : 0;
}

/// The first sentence that says why a submission has not all points.
std::string why(const json& result) {
  if (result["problem"] != "") return result["problem"];
  for (const json& l : result["lessons"]) {
    if (l["problem"] != "") return l["problem"];
    for (const json& c : l["cases"])
      if (!c["passed"].get<bool>()) return c["sentence"];
  }
  return "";
}

/// Which sentences of known mistakes were said to how many, the most frequent first. Several forms of a mistake may
/// have one sentence.
json count_mistakes(const json& results) {
  struct Made {
    std::set<std::string> forms;
    std::vector<std::string> by;
  };
  std::map<std::pair<std::string, std::string>, Made> made;
  for (const json& r : results)
    for (const json& l : r["lessons"])
      for (const json& m : l["mistakes"]) {
        auto& [forms, by] = made[{l["lesson"], m["says"]}];
        forms.insert(m["name"]);
        const auto name = r["name"].get<std::string>();
        if (by.empty() || by.back() != name) by.push_back(name);
      }
  json list = json::array();
  for (const auto& [said, m] : made)
    list.push_back({{"lesson", said.first},
                    {"says", said.second},
                    {"mistakes", m.forms},
                    {"submissions", m.by.size()},
                    {"names", m.by}});
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["submissions"].get<size_t>() > b["submissions"].get<size_t>();
  });
  return list;
}

}  // namespace

std::string class_csv(const json& results) {
  std::string text = "name,percent,passed,total";
  if (!results.empty())
    for (const json& l : results[0]["lessons"]) text += "," + l["lesson"].get<std::string>();
  text += ",why\n";
  for (const json& r : results) {
    text += fmt::format("{},{:.2f},{},{}", csv_field(r["name"]), percent(r), r["passed"].get<size_t>(),
                        r["total"].get<size_t>());
    for (const json& l : r["lessons"]) text += fmt::format(",{}", l["passed"].get<size_t>());
    text += "," + csv_field(why(r)) + "\n";
  }
  return text;
}

json class_summary(const json& results, const std::string& walls) {
  json rows = json::array(), not_built = json::array();
  size_t perfect = 0;
  double sum = 0;
  for (const json& r : results) {
    json lessons = json::array();
    for (const json& l : r["lessons"]) {
      json mistakes = json::array();
      for (const json& m : l["mistakes"]) mistakes.push_back(m["name"]);
      lessons.push_back({{"lesson", l["lesson"]},
                         {"passed", l["passed"]},
                         {"total", l["total"]},
                         {"problem", l["problem"]},
                         {"mistakes", mistakes},
                         {"story", l["story"]}});
      if (l["problem"] != "")
        not_built.push_back({{"name", r["name"]}, {"lesson", l["lesson"]}, {"says", l["problem"]}});
    }
    if (r["problem"] != "") not_built.push_back({{"name", r["name"]}, {"lesson", ""}, {"says", r["problem"]}});
    perfect += r["total"] == r["passed"] && r["total"].get<size_t>() > 0;
    sum += percent(r);
    rows.push_back({{"name", r["name"]},
                    {"from", r["from"]},
                    {"percent", percent(r)},
                    {"passed", r["passed"]},
                    {"total", r["total"]},
                    {"seconds", r["seconds"]},
                    {"why", why(r)},
                    {"lessons", lessons}});
  }
  return {{"submissions", rows},
          {"perfect", perfect},
          {"mean_percent", results.empty() ? 0 : sum / double(results.size())},
          {"mistakes", count_mistakes(results)},
          {"not_built", not_built},
          {"walls", walls}};
}

std::string class_junit(const json& results) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const json& r : results)
    for (const json& l : r["lessons"]) {
      const std::string problem =
          r["problem"] != "" ? r["problem"].get<std::string>() : l["problem"].get<std::string>();
      const size_t total = l["total"], failed = total - l["passed"].get<size_t>();
      text += fmt::format("  <testsuite name=\"{} {}\" tests=\"{}\" failures=\"{}\" time=\"{:.2f}\">\n", xml(r["name"]),
                          xml(l["lesson"]), problem.empty() ? total : 1, problem.empty() ? failed : 1,
                          l["seconds"].get<double>());
      if (!problem.empty())
        text += fmt::format("    <testcase name=\"builds\"><failure message=\"{}\"/></testcase>\n", xml(problem));
      for (const json& c : l["cases"]) {
        text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(c["suite"]), xml(c["case"]));
        text += c["passed"].get<bool>() ? "/>\n"
                                        : fmt::format("><failure message=\"{}\"/></testcase>\n", xml(c["sentence"]));
      }
      text += "  </testsuite>\n";
    }
  return text + "</testsuites>\n";
}

}  // namespace rungs
