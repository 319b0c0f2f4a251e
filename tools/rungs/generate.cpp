// rungs generate: continues prompts.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "measure/measure.hpp"
#include "ops/cpu_ops.hpp"
#include "tensor/file.hpp"
#include "text/progress.hpp"
#include "text/vocabulary.hpp"

namespace rungs {

using nlohmann::ordered_json;

namespace {

struct Prompt {
  std::string text;
  std::vector<int32_t> tokens;  // BOS first
};

Prompt make_prompt(const Vocabulary& vocabulary, const std::string& text) {
  Prompt prompt{text, {vocabulary.bos()}};
  if (text.empty()) return prompt;  // the model begins by itself
  const std::vector<int32_t> ids = vocabulary.encode(text);
  prompt.tokens.insert(prompt.tokens.end(), ids.begin(), ids.end());
  return prompt;
}

std::vector<Prompt> read_prompts(const std::string& path, const Vocabulary& vocabulary) {
  std::vector<Prompt> prompts;
  const std::string text = read_text(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();  // lines may end as they do on Windows
    at = end + 1;
    const auto fail = [&](const std::string& what) {
      throw FileError(fmt::format("{}: line {}: {}", path, prompts.size() + 1, what));
    };
    if (line.empty()) fail("wanted a prompt, found an empty line");
    try {
      prompts.push_back(make_prompt(vocabulary, line));
    } catch (const UsageError& e) {
      fail(e.what());
    }
  }
  if (prompts.empty()) throw FileError(path + ": wanted one prompt a line, found an empty file");
  return prompts;
}

/// The tokens' text with the specials' names, quoted.
std::string shown(const Vocabulary& vocabulary, std::span<const int32_t> ids) {
  std::string text;
  for (const int32_t id : ids) text += vocabulary.tokens()[size_t(id)];
  return ordered_json(text).dump();
}

/// A prompt stands in bold before its continuation, where there is colour.
std::string emphasised(const std::string& text) {
  return wants_colour(stdout) && !text.empty() ? "\033[1m" + text + "\033[0m" : text;
}

/// Follows the steps and prints what was asked for: a trace, or the text as it comes.
struct Watcher {
  const GenerateCommand& command;
  const Vocabulary& vocabulary;
  size_t prompts;
  Progress progress;
  ordered_json steps = ordered_json::array();
  bool begins = true;  // nothing was printed yet

  void operator()(const Step& step) {
    progress.advance();
    if (command.trace && command.json) {
      steps.push_back({{"sequence", step.sequence},
                       {"step", step.number},
                       {"previous", step.previous},
                       {"current", step.current},
                       {"fed", step.fed},
                       {"text", ordered_json::parse(shown(vocabulary, step.fed))},
                       {"token", step.token}});
    } else if (command.trace) {
      const std::string sequence = prompts > 1 ? fmt::format("prompt {}  ", step.sequence + 1) : "";
      fmt::print("{}step {:>3}  previous {:>4}  current {:>4}  fed {}  text {}\n", sequence, step.number, step.previous,
                 step.current, ordered_json(step.fed).dump(), shown(vocabulary, step.fed));
    } else if (streams()) {
      if (step.number == 0) fmt::print("{}", emphasised(command.prompt));
      const std::string_view text = vocabulary.text_of(step.token);
      // Nothing stands before the first text, so the space that encode puts in front is dropped there.
      const bool drops = begins && command.prompt.empty() && text.starts_with(' ');
      begins = begins && text.empty();
      fmt::print("{}", text.substr(drops));
      std::fflush(stdout);
    }
  }
  bool streams() const { return prompts == 1 && !command.json && !command.trace; }
};

}  // namespace

int generate_text(const GenerateCommand& command) {
  check(command.options.sampling);
  CpuOps ops;
  const std::unique_ptr<Model> model = load_model(ops, command.model);
  const std::filesystem::path vocabulary_path = std::filesystem::path(command.model) / "vocabulary.json";
  const Vocabulary vocabulary(vocabulary_path);
  if (vocabulary.size() != model->config().vocabulary)
    throw FileError(fmt::format("{}: tokens: wanted {} (vocab_size of config.json), found {}", vocabulary_path.string(),
                                model->config().vocabulary, vocabulary.size()));

  const std::vector<Prompt> prompts = command.prompts_file.empty()
                                          ? std::vector{make_prompt(vocabulary, command.prompt)}
                                          : read_prompts(command.prompts_file, vocabulary);
  std::vector<std::vector<int32_t>> tokens;
  for (const Prompt& prompt : prompts) tokens.push_back(prompt.tokens);
  GenerateOptions options = command.options;
  options.stop = {vocabulary.eos()};

  // A bar only where nothing else shows that something happens.
  const bool quiet = prompts.size() > 1 && !command.trace;
  Watcher watcher{command, vocabulary, prompts.size(),
                  Progress("generating", quiet ? int64_t(prompts.size()) * options.max_tokens : 0)};
  const double start = now();
  const auto drawn = generate(*model, tokens, options, std::ref(watcher));
  const double seconds = now() - start;

  if (command.json) {
    ordered_json out = {{"model", command.model}, {"cache", options.cache}, {"seconds", seconds}};
    for (size_t i = 0; i < prompts.size(); ++i) {
      std::vector<int32_t> whole = prompts[i].tokens;
      whole.insert(whole.end(), drawn[i].begin(), drawn[i].end());
      out["sequences"].push_back({{"prompt", prompts[i].text},
                                  {"prompt_tokens", prompts[i].tokens},
                                  {"tokens", drawn[i]},
                                  {"text", vocabulary.decode(whole)},
                                  {"finish", options.ends(drawn[i].back()) ? "stop" : "length"}});
    }
    if (command.trace) out["steps"] = watcher.steps;
    fmt::print("{}\n", out.dump(2));
  } else if (watcher.streams()) {
    fmt::print("\n");
  } else {
    for (size_t i = 0; i < prompts.size(); ++i) {
      std::string text;
      for (const int32_t id : drawn[i]) text += vocabulary.text_of(id);
      if (prompts[i].text.empty() && text.starts_with(' ')) text.erase(0, 1);
      const bool apart = i > 0 || command.trace;  // an empty line before the text
      fmt::print("{}{}{}\n", apart ? "\n" : "", emphasised(prompts[i].text), text);
    }
  }
  return 0;
}

}  // namespace rungs
