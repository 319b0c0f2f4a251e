#include <algorithm>
#include <cctype>

#include "check_docs.hpp"

static std::string unescaped(std::string_view text) {
  static const std::map<std::string_view, char> characters{
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto found = std::find_if(characters.begin(), characters.end(),
                                    [&](auto& c) { return text.substr(i).starts_with(c.first); });
    const bool escaped = found != characters.end();
    out += escaped ? found->second : text[i];
    i += escaped ? found->first.size() : 1;
  }
  return out;
}

static std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The tag whose name begins at `at`, which then stands behind its ">".
static Tag read_tag(const std::string& html, size_t& at) {
  const auto space = [&] { return at < html.size() && std::isspace(static_cast<unsigned char>(html[at])); };
  const auto word = [&](const char* ends) {
    const size_t begin = at;
    at = std::min(html.find_first_of(ends, at), html.size());
    return std::string_view(html).substr(begin, at - begin);
  };
  Tag tag;
  if (html[at] == '/') tag.name = "/", ++at;
  tag.name += lower(word(" \t\n/>"));
  while (at < html.size() && html[at] != '>') {
    if (space() || html[at] == '/') {
      ++at;
      continue;
    }
    const std::string name = lower(word(" \t\n=/>"));
    std::string value;
    if (at < html.size() && html[at] == '=') {
      const char quote = ++at < html.size() ? html[at] : '"';
      if (quote == '"' || quote == '\'') {
        const size_t begin = ++at;
        at = std::min(html.find(quote, at), html.size());
        value = unescaped(std::string_view(html).substr(begin, at - begin));
        if (at < html.size()) ++at;
      } else {
        value = unescaped(word(" \t\n>"));
      }
    }
    tag.attributes[name] = value;
  }
  if (at < html.size()) ++at;
  return tag;
}

void read_html(const std::string& html, const std::function<void(const Tag&)>& on_tag,
               const std::function<void(std::string_view, bool)>& on_text) {
  std::vector<std::string> code;  // open elements, from the outermost that holds code
  for (size_t at = 0; at < html.size();) {
    const size_t next = std::min(html.find('<', at), html.size());
    if (next > at) on_text(std::string_view(html).substr(at, next - at), !code.empty());
    if (next == html.size()) return;
    at = next + 1;
    if (html.compare(at, 3, "!--") == 0) {
      at = std::min(html.find("-->", at), html.size() - 3) + 3;
      continue;
    }
    const Tag tag = read_tag(html, at);
    on_tag(tag);
    if (tag.name == "script" || tag.name == "style") at = std::min(html.find("</" + tag.name, at), html.size());
    const auto of_class = tag.attributes.find("class");
    const bool fragment = of_class != tag.attributes.end() && of_class->second.starts_with("fragment");
    if (tag.name == "code" || tag.name == "pre" || fragment || (!code.empty() && tag.name == code.back()))
      code.push_back(tag.name);
    else if (!code.empty() && tag.name == "/" + code.back())
      code.pop_back();
  }
}

std::vector<Path> files_below(const Path& directory, const std::vector<std::string>& extensions) {
  std::vector<Path> files;
  for (auto i = std::filesystem::recursive_directory_iterator(directory); i != end(i); ++i) {
    if (i->path().filename() == "mathjax") i.disable_recursion_pending();
    if (std::find(extensions.begin(), extensions.end(), i->path().extension()) != extensions.end())
      files.push_back(i->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}
