// How the words of a command line are read where CLI11 is too kind: unknown ones, and numbers.
#include <fmt/format.h>

#include <algorithm>

#include "command_line.hpp"
#include "rungs/base/error.hpp"
#include "suggest.hpp"

namespace rungs {

static std::vector<std::string> names_of(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

void check_words(CLI::App& app, std::span<char*> words) {
  CLI::App* command = &app;
  std::string path = "rungs";
  for (const std::string word : words) {
    if (word == "--") return;
    const std::vector<std::string> commands = names_of(*command);
    if (!word.starts_with("-")) {
      if (commands.empty()) continue;  // an argument
      if (std::find(commands.begin(), commands.end(), word) == commands.end())
        throw UsageError(fmt::format("{} has no command \"{}\"{}", path, word, did_you_mean(word, commands)));
      command = command->get_subcommand(word);
      path += " " + word;
    } else if (word.starts_with("--")) {
      std::vector<std::string> options;
      for (const CLI::Option* option : command->get_options())
        for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
      const std::string name = word.substr(0, word.find('='));
      if (std::find(options.begin(), options.end(), name) == options.end())
        throw UsageError(fmt::format("{} has no option {}{}", path, name, did_you_mean(name, options)));
    }
  }
}

/// Why a text is no whole number, as CLI11 asks. Leading zeros are taken away.
static std::string not_whole(std::string& text, bool may_be_negative) {
  const bool negative = text.starts_with('-');
  const std::string digits = text.substr(negative || text.starts_with('+'));
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos || (negative && !may_be_negative))
    return fmt::format("wanted a whole number{}, found \"{}\"", may_be_negative ? "" : " from 0 on", text);
  const std::string number = digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  const std::string most = may_be_negative ? "9223372036854775807" : "18446744073709551615";
  if (number.size() > most.size() || (number.size() == most.size() && number > most))
    return fmt::format("wanted a whole number up to {}, found {}", most, text);
  text = (negative ? "-" : "") + number;
  return "";
}

void read_numbers_as_people_do(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (const bool whole = type.starts_with("INT"); whole || type.starts_with("UINT"))
      option->transform(CLI::Validator([whole](std::string& text) { return not_whole(text, whole); }, ""));
    else if (type.starts_with("FLOAT"))
      option->transform(CLI::Validator(
          [](std::string& text) { return std::string(text.empty() ? "wanted a number, found nothing" : ""); }, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) read_numbers_as_people_do(*command);
}

}  // namespace rungs
