// rungs generate: continues prompts.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "drafting.hpp"
#include "engine.hpp"
#include "prompts.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/base/units.hpp"
#include "rungs/generate/capacity_plan.hpp"
#include "rungs/measure/measure.hpp"

namespace rungs {

using nlohmann::ordered_json;
using namespace std::string_literals;

namespace {

/// What stays while prompts come and go.
struct Session {
  const GenerateCommand& command;
  Engine& engine;
  const Tokenizer& tokenizer;
  Config config;
  GenerateOptions options;
  int64_t context;  // most tokens of a sequence
  std::unique_ptr<Model> model = nullptr;
  std::optional<Drafting> drafting = {};
};

/// The tokens' text with the specials' names, quoted.
std::string shown(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  std::string text;
  for (const int32_t id : ids) text += tokenizer.name_of(id);
  return on_one_line(ordered_json(text));
}

/// What was asked for stands in bold before its continuation, where there is colour.
std::string emphasised(const std::string& text) {
  return wants_colour(stdout) && !text.empty() ? "\033[1m" + text + "\033[0m" : text;
}

/// Follows the steps and prints what was asked for: a trace, or the text as it comes.
class Watcher {
 public:
  Watcher(const Session& session, const std::vector<Prompt>& prompts)
      : session_(session),
        prompts_(prompts),
        progress_(std::in_place, "generating",
                  hides() ? int64_t(prompts.size()) * std::min(session.options.max_tokens, session.context) : 0),
        texts_(prompts.size()),
        start_(now()) {
    for (const Prompt& prompt : prompts)
      streams_.push_back(session.engine.stream(session.tokenizer, prompt.text.empty()));
    if (streams()) fmt::print("{}", emphasised(echo(0)));
  }

  void operator()(const Step& step) {
    if (step.number == 0) first_ = now(), ++made_by_first_;
    progress_->advance();
    const GenerateCommand& command = session_.command;
    const std::string text = streams_[size_t(step.sequence)].next(step.token);
    texts_[size_t(step.sequence)] += text;
    if (command.trace && command.json) {
      steps_.push_back({{"sequence", step.sequence},
                        {"step", step.number},
                        {"past", step.past},
                        {"position", step.position},
                        {"tokens", step.tokens},
                        {"text", ordered_json::parse(shown(session_.tokenizer, step.tokens))},
                        {"token", step.token}});
    } else if (command.trace) {
      const std::string sequence = prompts_.size() > 1 ? fmt::format("prompt {}  ", step.sequence + 1) : "";
      fmt::print("{}step {:>3}  past {:>4}  position {:>4}  tokens {}  text {}\n", sequence, step.number, step.past,
                 step.position, ordered_json(step.tokens).dump(), shown(session_.tokenizer, step.tokens));
    } else if (streams()) {
      fmt::print("{}", text);
      std::fflush(stdout);
    }
  }

  /// What is left to print when all sequences have ended.
  void finish(const Sequences& drawn) {
    const double end = now();
    progress_.reset();  // its line is where the texts begin
    for (size_t i = 0; i < prompts_.size(); ++i) {
      const std::string rest = streams_[i].end();
      texts_[i] += rest;
      if (streams()) fmt::print("{}\n", rest);
    }
    size_t made = 0, fed = 0;
    for (const auto& tokens : drawn) made += tokens.size();
    for (const Prompt& prompt : prompts_) fed += prompt.tokens.size();
    const double prefill = first_ - start_, decode = end - first_;
    const size_t after_first = made - made_by_first_;  // one of each sequence, or all that were drafted before it
    const double rate = after_first > 0 ? double(after_first) / decode : 0;
    const GenerateCommand& command = session_.command;
    if (command.json) return print_json(drawn, end - start_, rate);
    for (size_t i = 0; i < prompts_.size() && !streams(); ++i)
      fmt::print("{}{}{}\n", i > 0 || command.trace ? "\n" : "", emphasised(echo(i)), texts_[i]);
    std::fflush(stdout);
    for (size_t i = 0; i < prompts_.size(); ++i)
      if (why_it_ended(drawn[i]) == "context"s)
        fmt::print(stderr, "{} ended: the context of {} tokens is full\n", name_of(i), session_.context);
    if (command.stats || is_terminal(stderr))
      fmt::print(stderr, "{} tokens of prompt in {:.3f} s; then {} tokens in {:.3f} s, {:.1f} tokens per second\n", fed,
                 prefill, after_first, decode, rate);
    if (session_.drafting && (command.stats || is_terminal(stderr)))
      fmt::print(stderr, "{}\n", in_words(session_.drafting->report, int64_t(made)));
    if (command.stats) print_ranks();
  }

 private:
  bool streams() const { return prompts_.size() == 1 && !session_.command.json && !session_.command.trace; }
  /// A bar shows that something happens only where nothing else does.
  bool hides() const { return prompts_.size() > 1 && !session_.command.trace; }
  std::string echo(size_t i) const { return session_.command.echo ? prompts_[i].text : ""; }

  std::string name_of(size_t i) const { return prompts_.size() == 1 ? "the text" : fmt::format("text {}", i + 1); }

  const char* why_it_ended(const std::vector<int32_t>& drawn) const {
    if (session_.options.ends(drawn.back())) return "stop";
    return int64_t(drawn.size()) < session_.options.max_tokens ? "context" : "length";
  }

  void print_ranks() const {
    const std::optional<RankReport> r = session_.engine.ranks();
    if (!r) return;
    fmt::print(
        stderr, "{} ranks: {} of weights in rank 0, which sent {} in {} sums, {} all-gathers and {} broadcasts\n",
        r->ranks, in_units(r->weight_bytes), in_units(r->bytes_sent), r->all_reduces, r->all_gathers, r->broadcasts);
  }

  void print_json(const Sequences& drawn, double seconds, double rate) const {
    ordered_json out = {{"model", session_.command.model},
                        {"cache", session_.options.cache},
                        {"cache_dtype", rungs::name_of(session_.options.cache_dtype)},
                        {"temperature", session_.options.sampling.temperature},
                        {"top_k", session_.options.sampling.top_k},
                        {"top_p", session_.options.sampling.top_p},
                        {"seconds", seconds},
                        {"seconds_to_first_token", first_ - start_},
                        {"tokens_per_second", rate}};
    if (const std::optional<RankReport> r = session_.engine.ranks())
      out["ranks"] = {{"ranks", r->ranks},
                      {"weight_bytes", r->weight_bytes},
                      {"all_reduces", r->all_reduces},
                      {"all_gathers", r->all_gathers},
                      {"broadcasts", r->broadcasts},
                      {"bytes_sent", r->bytes_sent}};
    if (session_.drafting) {
      const DraftReport& r = session_.drafting->report;
      out["draft"] = {{"calls", r.calls}, {"drafted", r.drafted}, {"accepted", r.accepted}};
    }
    for (const EnginePart& part : session_.engine.parts(session_.config))
      out["parts"].push_back({{"lesson", part.lesson},
                              {"functions", part.functions},
                              {"whose", part.mine ? "yours" : "the library's"},
                              {"why", part.why}});
    for (size_t i = 0; i < prompts_.size(); ++i)
      out["sequences"].push_back({{"prompt", prompts_[i].text},
                                  {"prompt_tokens", prompts_[i].tokens},
                                  {"tokens", drawn[i]},
                                  {"text", echo(i) + texts_[i]},
                                  {"finish", why_it_ended(drawn[i])}});
    if (session_.command.trace) out["steps"] = steps_;
    fmt::print("{}\n", pretty(out));
  }

  const Session& session_;
  const std::vector<Prompt>& prompts_;
  std::optional<Progress> progress_;
  std::vector<TextStream> streams_;
  std::vector<std::string> texts_;
  ordered_json steps_ = ordered_json::array();
  double start_, first_ = 0;
  size_t made_by_first_ = 0;  // tokens of the first call
};

void run(Session& session, const std::vector<Prompt>& prompts) {
  Sequences tokens;
  for (const Prompt& prompt : prompts) tokens.push_back(prompt.tokens);
  check_prompts(tokens, session.options, session.context);  // before anything is printed
  if (session.engine.ranks() && session.engine.ranks()->rank != 0) {
    session.engine.generate(*session.model, tokens, session.options, {});
    return;
  }
  Watcher watcher(session, prompts);
  const auto draw = [&]() -> Sequences {
    if (!session.drafting) return session.engine.generate(*session.model, tokens, session.options, std::ref(watcher));
    session.drafting->report = {};
    return {generate_drafted(*session.model, tokens[0], session.options, session.drafting->options,
                             session.drafting->report, std::ref(watcher))};
  };
  watcher.finish(draw());
}

/// What to make room for. Of prompts that are still to be typed, each may be as long as the context.
LoadOptions planned(const Session& s, const std::vector<Prompt>& prompts) {
  std::vector<int64_t> lengths;
  for (const Prompt& prompt : prompts) lengths.push_back(int64_t(prompt.tokens.size()));
  if (s.command.interactive) lengths = {s.context};
  LoadOptions plan = plan_load(lengths, s.options, s.context);
  if (s.command.drafts() && plan.max_rows > 0) plan.max_rows = std::max(plan.max_rows, s.command.draft_tokens + 1);
  return plan;
}

/// Prompts line by line, until an empty one. What is wrong with one does not end the rest.
void converse(Session& session) {
  const bool person = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  const auto ask = [&](std::string& line) {
    if (person) fmt::print("> "), std::fflush(stdout);
    if (!std::getline(std::cin, line)) return false;
    if (line.ends_with('\r')) line.pop_back();  // lines may end as they do on Windows
    return !line.empty();
  };
  for (std::string line; ask(line); ++session.options.seed) {
    try {
      run(session, {make_prompt(session.tokenizer, session.config, line)});
    } catch (const UsageError& e) {
      std::fflush(stdout);
      fmt::print(stderr, "rungs: {}\n", e.what());
    }
  }
  if (person && !std::cin) fmt::print("\n");
}

/// Which parts are the learner's, for `--mine`.
void print_parts(const std::vector<EnginePart>& parts) {
  if (parts.empty()) return;
  for (const bool mine : {true, false}) {
    const auto is_one = [&](const EnginePart& part) { return part.mine == mine; };
    if (std::none_of(parts.begin(), parts.end(), is_one)) continue;
    fmt::print(stderr, "{}\n", mine ? "On your code:" : "On the library's:");
    for (const EnginePart& part : parts)
      if (is_one(part)) fmt::print(stderr, "  {:<18}{}{}{}\n", part.lesson, part.functions, mine ? "" : "  ", part.why);
  }
  fmt::print(stderr, "\n");
}

/// Where it is the model's file by which tokens are drawn in another way.
void print_sampling(const Session& session, const SampleOptions& without_file) {
  const std::string drawn = in_words(session.options.sampling);
  if (drawn != in_words(without_file))
    fmt::print(stderr, "Drawn with {}: what no option says is as {} has it\n", drawn,
               (std::filesystem::path(session.command.model) / "generation_config.json").string());
}

}  // namespace

int generate_text(const GenerateCommand& command) { return generate_text(command, *make_engine(command.device)); }

int generate_text(const GenerateCommand& command, Engine& engine) {
  const Config config = load_config(command.model);
  const GenerationConfig makers = load_generation_config(command.model, config.vocab_size);
  const SampleOptions sampling = sample_options(command.sampling, makers, command.options.sampling);
  check(sampling);
  const std::filesystem::path path = tokenizer_path(command.model, command.tokenizer);
  const std::unique_ptr<Tokenizer> tokenizer = engine.tokenizer(path);
  check_vocabulary(*tokenizer, path, config);

  const int64_t most = config.usable_context(), context = command.options.context ? command.options.context : most;
  if (context < 1 || context > most)
    throw UsageError(fmt::format("context: wanted 1 to {}, which is the model's, found {}", most, context));
  Session session{command, engine, *tokenizer, config, command.options, context};
  session.options.sampling = sampling;
  session.options.stop = config.eos;
  if (config.eos.empty() && tokenizer->eos()) session.options.stop = {*tokenizer->eos()};

  std::vector<Prompt> prompts;
  if (!command.prompts_file.empty()) prompts = read_prompts(command.prompts_file, *tokenizer, config);
  for (const std::string& text : command.prompts) prompts.push_back(make_prompt(*tokenizer, config, text));
  if (prompts.empty() && !command.interactive) prompts.push_back(no_prompt(*tokenizer, config));

  if (!command.json) print_parts(engine.parts(config));
  if ((command.stats || is_terminal(stderr)) && (!engine.ranks() || engine.ranks()->rank == 0))
    print_sampling(session, sample_options(command.sampling, {}, command.options.sampling));
  if (command.drafts() && prompts.size() > 1)
    throw UsageError(fmt::format("a draft is for one prompt, found {}", prompts.size()));
  session.model = engine.model(command.model, planned(session, prompts));
  if (command.drafts()) session.drafting = open_draft(command, engine, config, *tokenizer, planned(session, prompts));
  if (command.interactive)
    converse(session);
  else
    run(session, prompts);
  return 0;
}

}  // namespace rungs
