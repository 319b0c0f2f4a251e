// lesson_generator LESSON_DIR REFERENCES_DIR OUT_DIR: makes everything of a lesson that follows from its solution,
// solution.cpp or, in a lesson about CUDA, solution.cu, and from mistakes.toml.
//
//   starter.cpp     what `rungs start` gives the learner: each region replaced by not_written("step 2 of 5: ...")
//   mistakes.cpp    every known mistake, each in a namespace of its own; these two end as the solution does
//   mistakes.json   their names and sentences, for the grader
//   pieces.hpp      struct Pieces: the lesson's functions as pointers, so that cases.cpp runs any implementation of
//   them solution_glue.cpp, mine_glue.cpp   the one implementation in a runner program suites.cpp      a doctest case
//   for each reference case
//
// In a course's handout a lesson has starter.cpp, or starter.cu, in place of its solution, and a mistakes.toml without
// code: then there is no mistakes.cpp and no suites.cpp.
//
// lesson_generator --versions FILE LESSON_DIR OUT_DIR: versions.cpp and versions.json, as mistakes.cpp, of versions
// that were written freely; `rungs grade --naming` measures with them.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <vector>

namespace fs = std::filesystem;

static std::string read(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Leaves a file alone that would not change, so that nothing is built again for it.
static void write(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && read(path) == text) return;
  std::ofstream(path) << text;
}

/// Where a learner writes: between a line `// >>> sentence` and a line `// <<<`.
struct Region {
  size_t begin, end;                // of the code between the marker lines
  size_t marker_begin, marker_end;  // with the marker lines
  std::string indent, sentence;
};

static std::vector<Region> find_regions(const std::string& source, const std::string& file) {
  std::vector<Region> regions;
  std::optional<Region> open;
  size_t line_begin = 0;
  for (int number = 1; line_begin < source.size(); ++number) {
    const size_t line_end = std::min(source.find('\n', line_begin), source.size() - 1) + 1;
    const std::string line = source.substr(line_begin, line_end - line_begin - 1);
    const auto fail = [&](const char* what) { throw std::runtime_error(fmt::format("{}:{}: {}", file, number, what)); };
    const bool after_sentence = open && line_begin == open->begin;
    if (after_sentence && line.substr(std::min(line.size(), line.find_first_not_of(' '))).starts_with("//"))
      fail("a region's sentence stands on one line; this comment would be lost from the starter");
    if (const size_t at = line.find("// >>>"); at != line.npos) {
      if (open) fail("a region begins inside a region");
      if (at + 7 >= line.size()) fail("a region has no sentence");
      open = Region{line_end, 0, line_begin, 0, line.substr(0, at), line.substr(at + 7)};
    } else if (line.find("// <<<") != line.npos) {
      if (!open) fail("a region ends that never began");
      open->end = line_begin, open->marker_end = line_end;
      regions.push_back(*open);
      open.reset();
    }
    line_begin = line_end;
  }
  if (open || regions.empty()) throw std::runtime_error(file + ": a region does not end, or there is none");
  return regions;
}

static std::string make_starter(const std::string& source, const std::vector<Region>& regions) {
  std::string out;
  size_t at = 0;
  for (size_t i = 0; i < regions.size(); ++i) {
    const Region& r = regions[i];
    const std::string step = fmt::format("step {} of {}: {}", i + 1, regions.size(), r.sentence);
    std::string quoted = step;
    for (size_t p = 0; (p = quoted.find_first_of("\"\\", p)) != quoted.npos; p += 2) quoted.insert(p, "\\");
    out += source.substr(at, r.marker_begin - at);
    out += fmt::format("{0}// {1}\n{0}not_written(\"{2}\");\n", r.indent, step, quoted);
    at = r.marker_end;
  }
  return out + source.substr(at);
}

/// With what printing a tensor takes, so that a learner looks up no include. Kernels have no tensors to print.
static std::string with_print(std::string starter) {
  const std::string include = "#include \"rungs/tensor/print.hpp\"";
  const size_t last = starter.rfind("#include ");
  if (last == starter.npos || starter.find(include) != starter.npos) return starter;
  return starter.insert(starter.find('\n', last) + 1, include + "  // print(\"x\", x) shows a tensor\n");
}

static toml::table parse(const std::string& file) try {
  return toml::parse_file(file);
} catch (const toml::parse_error& e) {
  throw std::runtime_error(fmt::format("{}:{}: {}", file, e.source().begin.line, e.description()));
}

/// A field that is one string or a list of them.
static std::vector<std::string> strings(const toml::table& table, const char* key, const std::string& who) {
  std::vector<std::string> list;
  if (const auto one = table[key].value<std::string>()) list.push_back(*one);
  if (const toml::array* many = table[key].as_array())
    for (const auto& node : *many) list.push_back(node.value<std::string>().value_or(""));
  if (list.empty()) throw std::runtime_error(fmt::format("{}: wanted `{}`, a string or a list of strings", who, key));
  return list;
}

static std::string text_of(const toml::table& table, const char* key, const std::string& who) {
  return strings(table, key, who).front();
}

/// Replaces `find`, which must stand once in the source, and `inside_regions` within one.
static void edit(std::string& source, const std::string& who, const std::string& find, const std::string& replace,
                 bool inside_regions) {
  if (find.empty()) throw std::runtime_error(who + ": `find` is empty");
  const size_t at = source.find(find);
  if (at == source.npos) throw std::runtime_error(fmt::format("{}: `find` matches nothing: {}", who, find));
  if (source.find(find, at + 1) != source.npos)
    throw std::runtime_error(fmt::format("{}: `find` matches more than once: {}", who, find));
  const auto regions = find_regions(source, who);
  const auto inside = [&](const Region& r) { return r.begin <= at && at + find.size() <= r.end; };
  if (inside_regions && std::none_of(regions.begin(), regions.end(), inside))
    throw std::runtime_error(fmt::format("{}: `find` stands outside the regions that a learner writes: {}", who, find));
  source.replace(at, find.size(), replace);
}

/// The solution with the edits of one version.
static std::string make_version(std::string source, const toml::table& version, const std::string& who,
                                bool inside_regions = true) {
  if (const auto region = version["region"].value<int64_t>()) {
    const auto regions = find_regions(source, who);
    if (*region < 1 || size_t(*region) > regions.size())
      throw std::runtime_error(fmt::format("{}: there is no region {}", who, *region));
    const Region& r = regions[size_t(*region - 1)];
    source.replace(r.begin, r.end - r.begin, text_of(version, "body", who));
    return source;
  }
  const auto find = strings(version, "find", who), replace = strings(version, "replace", who);
  if (find.size() != replace.size()) throw std::runtime_error(who + ": as many `replace` as `find`");
  for (size_t i = 0; i < find.size(); ++i) edit(source, who, find[i], replace[i], inside_regions);
  return source;
}

/// The names become namespaces.
static void check_name(const std::string& name, const std::string& file) {
  const auto fits = [](unsigned char c) { return c == '_' || std::isalnum(c); };
  if (name.empty() || !std::all_of(name.begin(), name.end(), fits) || std::isdigit(static_cast<unsigned char>(name[0])))
    throw std::runtime_error(fmt::format("{}: {}: wanted a C++ name", file, name));
}

/// "includes, then one namespace": the includes and what stands inside the namespace.
struct Parts {
  std::string head, body;
};

static Parts split_namespace(const std::string& source, const std::string& space, const std::string& file) {
  const std::string open = "namespace " + space + " {\n", close = "}  // namespace " + space;
  const size_t begin = source.find(open), end = source.rfind(close);
  if (begin == source.npos || end == source.npos)
    throw std::runtime_error(fmt::format("{}: wanted includes, then one `{}`", file, open));
  return {source.substr(0, begin), source.substr(begin + open.size(), end - begin - open.size())};
}

static std::string quoted_json(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

/// The lines that bind one implementation to the lesson's cases. Kernels must give the same in any order of threads.
static std::string binding(const std::string& space, const std::string& scope, const std::vector<std::string>& pieces,
                           bool kernels) {
  std::string list;
  for (const std::string& piece : pieces) list += (list.empty() ? "" : ", ") + scope + "::" + piece;
  const std::string run =
      fmt::format("[](const rungs::CaseInput& in, rungs::Recording& out) {{ {}::run(in, {{{}}}, out); }}", space, list);
  if (!kernels) return run;
  return fmt::format("[](const rungs::CaseInput& given, rungs::Recording& to) {{ rungs::run_kernels(given, to, {}); }}",
                     run);
}

static std::string implementations(const std::string& rows) {
  return fmt::format(
      "std::span<const rungs::Implementation> rungs::implementations() {{\n  static const Implementation list[] = "
      "{{\n{}  }};\n  return list;\n}}\n",
      rows);
}

static void check_shows(const std::string& shows, const std::string& who) {
  for (const char* known : {"output", "error", "work", "unstable", "checker"})
    if (shows == known) return;
  throw std::runtime_error(
      fmt::format("{}: shows: wanted output, error, work, unstable or checker, found {}", who, shows));
}

static std::string test_case(const std::string& name, const char* suite, const std::string& call) {
  return fmt::format("TEST_CASE(\"{}\" * doctest::test_suite(\"{}\")) {{ rungs::{}; }}\n", name, suite, call);
}

/// What is known of a lesson from its folder.
struct LessonFolder {
  explicit LessonFolder(const fs::path& lesson)
      : name(lesson.filename().string()),
        space("lesson_" + name.substr(0, name.find('_'))),
        kernels(fs::exists(lesson / "solution.cu") || fs::exists(lesson / "starter.cu")),
        ending(kernels ? ".cu" : ".cpp"),
        handed_out(fs::exists(lesson / ("starter" + ending))),
        solution((lesson / ("solution" + ending)).string()),
        mistakes((lesson / "mistakes.toml").string()),
        pieces(strings(parse(mistakes), "pieces", mistakes)) {}
  std::string name, space;
  bool kernels;
  std::string ending;
  bool handed_out;  // without its solution
  std::string solution, mistakes;
  std::vector<std::string> pieces;
};

/// The fields of a mistake that the grader reads.
static std::string mistake_fields(const toml::table& m, const std::string& who) {
  const std::string shows = m["shows"].value_or<std::string>("output");
  check_shows(shows, who);
  return fmt::format("\"says\": {}, \"read\": {}, \"shows\": {}", quoted_json(text_of(m, "says", who)),
                     quoted_json(text_of(m, "read", who)), quoted_json(shows));
}

/// mistakes.json of a lesson whose mistakes have no code here.
static void write_sentences(const LessonFolder& l, const fs::path& out) {
  const toml::table table = parse(l.mistakes);
  std::string json;
  if (const toml::array* mistakes = table["mistake"].as_array())
    for (const auto& node : *mistakes)
      if (const toml::table* m = node.as_table()) {
        const std::string id = text_of(*m, "name", l.mistakes);
        json += fmt::format("{}\n  {{\"name\": {}, {}}}", json.empty() ? "" : ",", quoted_json(id),
                            mistake_fields(*m, l.mistakes + ": " + id));
      }
  write(out / "mistakes.json", "[" + json + "\n]\n");
}

/// Every [[key]] of `table`, which is the file `list`: one at least.
static std::vector<const toml::table*> tables_of(const toml::table& table, const char* key, const std::string& list) {
  const toml::array* all = table[key].as_array();
  if (!all || all->empty()) throw std::runtime_error(fmt::format("{}: wanted at least one [[{}]]", list, key));
  std::vector<const toml::table*> tables;
  for (const auto& node : *all) {
    if (!node.is_table()) throw std::runtime_error(fmt::format("{}: wanted each {} as [[{}]]", list, key, key));
    tables.push_back(node.as_table());
  }
  return tables;
}

/// Every [[key]] of `table`, which is the file `list`, as an edited solution in a namespace of its own, in one source
/// file `out`; and `out`.json with the fields that `fields_of` gives beside each name.
static void write_versions(const LessonFolder& l, const toml::table& table, const std::string& list, const char* key,
                           const fs::path& out,
                           const std::function<std::string(const toml::table&, const std::string&)>& fields_of) {
  const Parts parts = split_namespace(read(l.solution), l.space, l.solution);
  std::string code = fmt::format("// Made by lesson_generator from the solution and {}.\n#include \"pieces.hpp\"\n{}",
                                 fs::path(list).filename().string(), parts.head),
              rows, json;
  std::set<std::string> names;
  for (const toml::table* each : tables_of(table, key, list)) {
    const toml::table& version = *each;
    const std::string id = text_of(version, "name", list), who = list + ": " + id;
    check_name(id, list);
    if (!names.insert(id).second) throw std::runtime_error(who + ": stands twice");
    const std::string edited = make_version(parts.body, version, who);
    if (edited == parts.body) throw std::runtime_error(who + ": changes nothing");
    code += fmt::format("\nnamespace {}::{} {{\n{}}}\n", l.space, id, edited);
    rows += fmt::format("      {{\"{}\", {}}},\n", id, binding(l.space, l.space + "::" + id, l.pieces, l.kernels));
    json +=
        fmt::format("{}\n  {{\"name\": {}, {}}}", json.empty() ? "" : ",", quoted_json(id), fields_of(version, who));
  }
  write(out.string() + l.ending, code + "\n" + implementations(rows));
  write(out.string() + ".json", "[" + json + "\n]\n");
}

/// Versions of a lesson that were written freely, for the benchmark of naming; right or wrong, and what may be said of
/// them.
static void free_versions(const fs::path& file, const fs::path& lesson, const fs::path& out) {
  fs::create_directories(out);
  write_versions(LessonFolder(lesson), parse(file.string()), file.string(), "version", out / "versions",
                 [](const toml::table& v, const std::string& who) {
                   std::string named;
                   if (v.contains("named"))
                     for (const std::string& name : strings(v, "named", who))
                       named += (named.empty() ? "" : ", ") + quoted_json(name);
                   return fmt::format("\"right\": {}, \"named\": [{}], \"says\": {}", v["right"].value_or(false), named,
                                      quoted_json(v["says"].value_or<std::string>("")));
                 });
}

/// The solution with the edits of each [[experiment]], as a file of its own: what a learner changes to see what
/// happens, given lines too.
static void write_experiments(const fs::path& file, const fs::path& lesson, const fs::path& out) {
  const LessonFolder l(lesson);
  fs::create_directories(out);
  const toml::table table = parse(file.string());
  for (const toml::table* experiment : tables_of(table, "experiment", file.string())) {
    const std::string id = text_of(*experiment, "name", file.string()), who = file.string() + ": " + id;
    check_name(id, file.string());
    write(out / ("experiment_" + id + l.ending), make_version(read(l.solution), *experiment, who, false));
  }
}

/// A doctest case for each reference case.
static void write_suites(const LessonFolder& l, const fs::path& references, const fs::path& out) {
  std::vector<std::string> cases;
  if (fs::exists(references))
    for (const auto& entry : fs::directory_iterator(references))
      if (fs::exists(entry.path() / "case.json")) cases.push_back(entry.path().filename().string());
  std::sort(cases.begin(), cases.end());
  std::string suites =
      "// Made by lesson_generator: a doctest case for each reference case.\n#include "
      "\"rungs/grader/doctest_suites.hpp\"\n\n";
  bool has_cache = false;
  for (const std::string& c : cases) {
    const bool prompt = c.find("_prompt_") != c.npos;
    has_cache = has_cache || prompt;
    if (!prompt) suites += test_case(c, "evaluate", fmt::format("check_case(\"{}\", \"{}\")", l.name, c));
  }
  if (has_cache)
    suites += test_case("every split of every prompt", "kv_evaluate", fmt::format("check_kv_evaluate(\"{}\")", l.name));
  write(out / "suites.cpp", suites);
}

static void lesson_generator(const fs::path& folder, const fs::path& references, const fs::path& out) {
  const LessonFolder l(folder);
  fs::create_directories(out);
  std::string starter;
  if (l.handed_out) {
    starter = read(folder / ("starter" + l.ending));
  } else {
    const std::string source = read(l.solution);
    starter = make_starter(source, find_regions(source, l.solution));
  }
  write(out / ("starter" + l.ending), l.kernels ? starter : with_print(starter));

  std::string fields;
  for (const std::string& piece : l.pieces) fields += fmt::format("  decltype(&{0}::{1}) {1};\n", l.space, piece);
  write(out / "pieces.hpp", fmt::format("// Made by lesson_generator from mistakes.toml.\n#pragma once\n\n#include "
                                        "\"{2}.hpp\"\n#include \"lesson.hpp\"\n\n"
                                        "namespace {0} {{\n\n/// The functions of this lesson: yours, the solution's "
                                        "or a known mistake's.\nstruct Pieces {{\n{1}}};\n\n"
                                        "/// Runs one case; in cases.cpp.\nvoid run(const CaseInput& in, const Pieces& "
                                        "pieces, Recording& out);\n\n}}  // namespace {0}\n",
                                        l.space, fields, l.kernels ? "kernel_case" : "rungs/grader/implementation"));
  for (const std::string which : {"solution", "mine"})
    write(out / (which + "_glue.cpp"),
          "// Made by lesson_generator.\n#include \"pieces.hpp\"\n\n" +
              implementations(
                  fmt::format("      {{\"{}\", {}}},\n", which, binding(l.space, l.space, l.pieces, l.kernels))));

  if (l.handed_out) return write_sentences(l, out);
  write_versions(l, parse(l.mistakes), l.mistakes, "mistake", out / "mistakes", mistake_fields);
  write_suites(l, references, out);
}

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 4 && words[0] == "--versions")
    free_versions(words[1], words[2], words[3]);
  else if (words.size() == 4 && words[0] == "--experiments")
    write_experiments(words[1], words[2], words[3]);
  else if (words.size() == 3)
    lesson_generator(words[0], words[1], words[2]);
  else
    return std::cerr << "usage: lesson_generator LESSON_DIR REFERENCES_DIR OUT_DIR\n"
                        "       lesson_generator --versions FILE LESSON_DIR OUT_DIR\n"
                        "       lesson_generator --experiments FILE LESSON_DIR OUT_DIR\n",
           2;
  return 0;
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
