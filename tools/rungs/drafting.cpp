#include "drafting.hpp"

#include <fmt/format.h>

#include "prompts.hpp"
#include "rungs/analysis/memory.hpp"

namespace rungs {

static void check_draft_vocabulary(const std::string& draft, const Tokenizer& drafts, const GenerateCommand& command,
                                   const Tokenizer& tokenizer) {
  const auto fail = [&](const std::string& differs) {
    throw UsageError(fmt::format("--draft: {} and {} have different vocabularies: {}", draft, command.model, differs));
  };
  if (drafts.size() != tokenizer.size()) fail(fmt::format("{} tokens and {}", drafts.size(), tokenizer.size()));
  for (int32_t id = 0; id < int32_t(tokenizer.size()); ++id)
    if (drafts.name_of(id) != tokenizer.name_of(id))
      fail(fmt::format("token {} is \"{}\" and \"{}\"", id, drafts.name_of(id), tokenizer.name_of(id)));
}

Drafting open_draft(const GenerateCommand& command, Engine& engine, const Config& config, const Tokenizer& tokenizer,
                    LoadOptions options) {
  Drafting drafting{nullptr, {nullptr, command.draft_tokens}};
  if (command.draft.empty()) return drafting;
  const Config small = load_config(command.draft);
  const int64_t parameters = count_parameters(small).total(), of_model = count_parameters(config).total();
  if (parameters > of_model)
    throw UsageError(fmt::format("--draft: {} has {} parameters and {} has {}: a draft must be the smaller one",
                                 command.draft, parameters, command.model, of_model));
  const std::filesystem::path path = tokenizer_path(command.draft, "");
  check_draft_vocabulary(command.draft, *engine.tokenizer(path), command, tokenizer);
  options.context = std::min(options.context ? options.context : config.usable_context(), small.usable_context());
  drafting.model = engine.model(command.draft, options);
  drafting.options.model = drafting.model.get();
  return drafting;
}

std::string in_words(const DraftReport& report, int64_t made) {
  const std::string kept =
      report.drafted > 0 ? fmt::format(" ({:.0f}%)", 100.0 * double(report.accepted) / double(report.drafted)) : "";
  return fmt::format("{} calls for {} tokens, {:.1f} each: {} of {} drafted tokens were kept{}", report.calls, made,
                     double(made) / double(report.calls), report.accepted, report.drafted, kept);
}

}  // namespace rungs
