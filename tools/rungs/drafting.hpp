/// The draft of `rungs generate --draft`.
#pragma once

#include <memory>
#include <string>

#include "commands.hpp"
#include "engine.hpp"
#include "rungs/generate/speculative.hpp"
#include "rungs/model/config.hpp"

namespace rungs {

/// Who drafts, and what it was worth.
struct Drafting {
  std::unique_ptr<Model> model;  ///< none: what the text repeats is looked up
  DraftOptions options;
  DraftReport report = {};
};

/// Opens the draft that the command names, beside a model of this shape and tokenizer. \throws UsageError for one that
/// is larger than the model or knows other tokens; FileError
Drafting open_draft(const GenerateCommand& command, Engine& engine, const Config& config, const Tokenizer& tokenizer,
                    LoadOptions options);

/// "84 calls for 200 tokens, 2.4 each: 116 of 336 drafted tokens were kept (35%)"
std::string in_words(const DraftReport& report, int64_t made);

}  // namespace rungs
