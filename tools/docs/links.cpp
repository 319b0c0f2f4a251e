#include <fmt/format.h>

#include <regex>
#include <set>

#include "check_docs.hpp"
#include "rungs/base/file.hpp"

namespace {

/// Pages that a reader may be sent to on the net. A page of ours says what it has to say.
const std::set<std::string> allowed_links{};

/// All pages and pictures with the anchors in them, and what they ask for.
class Site {
 public:
  Site(const Path& root, Problems& problems) : root_(root), problems_(problems) {
    for (const Path& file : files_below(root, {".html", ".svg"})) {
      std::set<std::string>& anchors = anchors_[file];
      read_html(
          rungs::read_text(file),
          [&](const Tag& tag) {
            for (const char* name : {"id", "name"})
              if (const auto found = tag.attributes.find(name); found != tag.attributes.end())
                anchors.insert(found->second);
          },
          [](std::string_view, bool) {});
    }
  }

  const std::map<Path, std::set<std::string>>& files() const { return anchors_; }

  void check(const Path& from, const std::string& url, bool is_link) {
    if (url.empty() || std::regex_search(url, std::regex("^(javascript|data|mailto):"))) return;
    if (std::regex_search(url, std::regex("^([a-z]+:)?//"))) {
      if (!is_link)
        problem(from, "loads " + url + " from the net");
      else if (!allowed_links.count(url))
        problem(from, "sends the reader to " + url + " on the net");
      return;
    }
    const size_t hash = url.find('#');
    const std::string path = url.substr(0, std::min(hash, url.find('?')));
    const Path file = path.empty() ? from : (from.parent_path() / path).lexically_normal();
    if (!std::filesystem::exists(file)) return problem(from, "needs " + url + ", which does not exist");
    const auto anchors = anchors_.find(file);
    if (hash == url.npos || hash + 1 == url.size() || anchors == anchors_.end()) return;
    const std::string anchor = url.substr(hash + 1);
    if (anchor == file.stem()) return;       // Doxygen's name for the page itself
    if (anchor == "nested-classes") return;  // Doxygen's link to nested classes, there even where all are private
    if (!anchors->second.count(anchor)) problem(from, "links to " + url + ": there is no such place");
  }

 private:
  void problem(const Path& from, const std::string& says) {
    problems_.push_back(fmt::format("{}: {}", from.lexically_relative(root_).string(), says));
  }

  Path root_;
  std::map<Path, std::set<std::string>> anchors_;
  Problems& problems_;
};

/// Every match of the expression's first group.
std::vector<std::string> matches(const std::string& text, const std::regex& expression) {
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i) found.push_back((*i)[1]);
  return found;
}

}  // namespace

void check_links(const Path& root, Problems& problems) {
  Site site(root, problems);
  for (const auto& [file, anchors] : site.files())
    read_html(
        rungs::read_text(file),
        [&, &page = file](const Tag& tag) {
          const bool is_link = tag.name == "a" || tag.name == "area";
          for (const char* name : {"href", "src", "data", "xlink:href"})
            if (const auto found = tag.attributes.find(name); found != tag.attributes.end())
              site.check(page, found->second, is_link);
        },
        [](std::string_view, bool) {});

  static const std::regex in_sheet(R"re((?:url\(|@import )["']?([^"')]+))re");
  for (const Path& file : files_below(root, {".css"}))
    for (const std::string& url : matches(rungs::read_text(file), in_sheet)) site.check(file, url, false);

  // The sidebar and the search are lists of pages in scripts. The sidebar's anchors are left alone: below a header,
  // Doxygen lists functions as if they stood on the header's page, and they stand on their namespace's.
  static const std::regex in_script(R"re(["']([^"' ()<>]+\.html(?:#[^"' ]*)?)["'])re");
  for (const Path& file : files_below(root, {".js"}))
    for (const std::string& url : matches(rungs::read_text(file), in_script))
      site.check(file, file.parent_path().filename() == "search" ? url : url.substr(0, url.find('#')), true);
}
