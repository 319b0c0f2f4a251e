/// Text that a person gives, as the tokens that a model gets.
#pragma once

#include <string>
#include <vector>

#include "rungs/model/config.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs {

struct Prompt {
  std::string text;
  std::vector<int32_t> tokens;  ///< BOS first, where the model has one
};

/// \throws UsageError for a text that is empty or not UTF-8, or has a part for which there is no token.
Prompt make_prompt(const Tokenizer& tokenizer, const Config& config, const std::string& text);

/// BOS alone: the model begins by itself. \throws UsageError when it has none.
Prompt no_prompt(const Tokenizer& tokenizer, const Config& config);

/// One prompt a line. \throws FileError naming the line
std::vector<Prompt> read_prompts(const std::string& path, const Tokenizer& tokenizer, const Config& config);

/// Where the tokenizer of a model is: `named`, or, when that is "", with the model.
std::filesystem::path tokenizer_path(const std::string& model, const std::string& named);

/// \throws FileError when the tokenizer has another vocabulary than the model.
void check_vocabulary(const Tokenizer& tokenizer, const std::filesystem::path& path, const Config& config);

}  // namespace rungs
