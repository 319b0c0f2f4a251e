#include <fmt/format.h>

#include <optional>
#include <regex>
#include <sstream>

#include "check_docs.hpp"
#include "rungs/base/file.hpp"

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A page and the file that it quotes, as Doxygen reads it: each command goes on where the one before it stopped.
class Quotes {
 public:
  Quotes(const Path& page, const std::vector<Path>& folders, Problems& problems)
      : page_(page), folders_(folders), problems_(problems) {}

  void obey(const std::string& command, std::string argument, size_t line) {
    line_ = line;
    if (command == "dontinclude") return open(argument);
    if (argument.empty()) return;
    size_t at = next_;
    while (at < file_.size() && file_[at].find(argument) == std::string::npos) ++at;
    if (at == file_.size()) return says(fmt::format("{} has no further line with \"{}\"", name_, argument));
    next_ = command == "skip" ? at : at + 1;
  }

 private:
  void says(const std::string& what) { problems_.push_back(fmt::format("{}:{}: {}", page_.string(), line_, what)); }
  void open(std::string name) {
    std::erase(name, '"');
    file_.clear(), name_ = name, next_ = 0;
    for (const Path& folder : folders_)
      if (std::filesystem::exists(folder / name)) {
        file_ = lines_of(rungs::read_text(folder / name));
        return;
      }
    says("there is no file " + name);
  }

  Path page_;
  std::vector<Path> folders_;
  Problems& problems_;
  Lines file_;
  std::string name_;
  size_t next_ = 0, line_ = 0;
};

}  // namespace

void check_quotes(const Path& source, Problems& problems) {
  static const std::regex command(R"(^\\(dontinclude|skip|skipline|line|until) (.*?) *$)");
  for (const char* room : {"lessons", "docs", "kernels", "tests"})
    for (const Path& page : files_below(source / room, {".md"})) {
      Quotes quotes(page, {source / "lessons", source, source / "lib"}, problems);
      const Lines lines = lines_of(rungs::read_text(page));
      for (size_t i = 0; i < lines.size(); ++i)
        if (std::smatch found; std::regex_match(lines[i], found, command)) quotes.obey(found[1], found[2], i + 1);
    }
}
