#include "rungs/tokenizer/gguf_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rungs/base/fields.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/tokenizer/sentencepiece.hpp"
#include "rungs/tokenizer/split.hpp"
#include "rungs/tokenizer/tiktoken.hpp"
#include "rungs/tokenizer/tokenizer_json.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

using nlohmann::json;

namespace {

json byte_level(bool cuts) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", cuts}};
}

/// How byte-level BPE cuts a text into words before it merges; GGUF has a name for each way.
struct Words {
  const char* gguf;
  json pre_tokenizer;  ///< as tokenizer.json says it
  bool ignore_merges;  ///< a word that is a token becomes that token
};

const std::vector<Words>& known_words() {
  static const std::vector<Words> known = {
      {"llama-bpe",
       {{"type", "Sequence"},
        {"pretokenizers", json::array({json{{"type", "Split"},
                                            {"pattern", {{"Regex", llama3_pattern}}},
                                            {"behavior", "Isolated"},
                                            {"invert", false}},
                                       byte_level(false)})}},
       true},
      {"gpt-2", byte_level(true), false},
      {"smollm",
       {{"type", "Sequence"},
        {"pretokenizers", json::array({json{{"type", "Digits"}, {"individual_digits", true}}, byte_level(true)})}},
       false}};
  return known;
}

std::string names_of_known() {
  std::string names;
  for (const Words& words : known_words()) names += fmt::format("{}{}", names.empty() ? "" : ", ", words.gguf);
  return names;
}

std::optional<int32_t> id_of(const GgufMetadata& m, const std::string& key, size_t tokens) {
  if (!m.has(key)) return {};
  return int32_t(m.whole(key, 0, int64_t(tokens) - 1));
}

/// What begins a text, unless the file says that nothing does.
std::optional<int32_t> bos_of(const GgufMetadata& m, size_t tokens) {
  if (!m.truth("tokenizer.ggml.add_bos_token", true)) return {};
  return id_of(m, "tokenizer.ggml.bos_token_id", tokens);
}

/// A list of the metadata must have one element for each token.
void require_one_for_each(const GgufMetadata& m, const std::string& key, size_t length, size_t tokens) {
  if (length != tokens) m.fail(key, fmt::format("{}, one for each token", tokens), fmt::to_string(length));
}

std::unique_ptr<Tokenizer> sentencepiece_of(const GgufMetadata& m, const std::string& file) {
  const auto& tokens = m.texts("tokenizer.ggml.tokens");
  const auto& scores = m.numbers("tokenizer.ggml.scores");
  const auto& kinds = m.wholes("tokenizer.ggml.token_type");
  require_one_for_each(m, "tokenizer.ggml.scores", scores.size(), tokens.size());
  require_one_for_each(m, "tokenizer.ggml.token_type", kinds.size(), tokens.size());
  SentencePieceModel model;
  model.space_in_front = m.truth("tokenizer.ggml.add_space_prefix", true);
  model.one_space_for_many = m.truth("tokenizer.ggml.remove_extra_whitespaces", false);
  for (size_t i = 0; i < tokens.size(); ++i)
    model.pieces.push_back({with_spaces(tokens[i]), float(scores[i]), PieceKind(kinds[i])});
  model.byte_fallback = std::count(kinds.begin(), kinds.end(), int64_t(PieceKind::byte)) > 0;
  model.bos = bos_of(m, tokens.size());
  model.eos = id_of(m, "tokenizer.ggml.eos_token_id", tokens.size());
  return std::make_unique<SentencePiece>(std::move(model), file);
}

/// The file as a tokenizer.json, whose BPE it is.
std::unique_ptr<Tokenizer> byte_level_of(const GgufMetadata& m, const std::string& file) {
  const auto& tokens = m.texts("tokenizer.ggml.tokens");
  const auto& kinds = m.wholes("tokenizer.ggml.token_type");
  require_one_for_each(m, "tokenizer.ggml.token_type", kinds.size(), tokens.size());
  const std::string& pre = m.text("tokenizer.ggml.pre");
  const auto& known = known_words();
  const auto words = std::find_if(known.begin(), known.end(), [&](const Words& w) { return w.gguf == pre; });
  if (words == known.end()) m.fail("tokenizer.ggml.pre", "one of " + names_of_known(), pre);
  json vocabulary = json::object(), added = json::array();
  for (size_t id = 0; id < tokens.size(); ++id) {
    const auto kind = PieceKind(kinds[id]);
    if (kind == PieceKind::control || kind == PieceKind::user_defined)
      added.push_back(
          {{"content", tokens[id]}, {"id", id}, {"special", kind == PieceKind::control}, {"normalized", false}});
    else if (!vocabulary.emplace(tokens[id], id).second)
      m.fail("tokenizer.ggml.tokens", "each token once", fmt::format("{:?} twice", tokens[id]));
  }
  json whole = {{"model",
                 {{"type", "BPE"},
                  {"vocab", std::move(vocabulary)},
                  {"merges", m.texts("tokenizer.ggml.merges")},
                  {"ignore_merges", words->ignore_merges}}},
                {"pre_tokenizer", words->pre_tokenizer},
                {"decoder", {{"type", "ByteLevel"}}},
                {"added_tokens", std::move(added)}};
  if (const auto bos = bos_of(m, tokens.size())) {
    const std::string& name = tokens[size_t(*bos)];
    whole["post_processor"] = {{"type", "TemplateProcessing"},
                               {"single", json::array({json{{"SpecialToken", {{"id", name}}}}})},
                               {"special_tokens", {{name, {{"ids", json::array({*bos})}}}}}};
  } else if (m.has("tokenizer.ggml.bos_token_id")) {
    whole["post_processor"] = {{"type", "TemplateProcessing"},
                               {"single", json::array({json{{"Sequence", {{"id", "A"}}}}})}};
  }
  return std::make_unique<TokenizerJson>(whole, file);
}

using Keys = std::vector<std::pair<std::string, GgufValue>>;

Keys keys_of(const SentencePieceModel& model) {
  std::vector<std::string> tokens;
  std::vector<double> scores;
  std::vector<int64_t> kinds;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    tokens.push_back(with_lower_lines(piece.text));
    scores.push_back(double(piece.score));
    kinds.push_back(int64_t(piece.kind));
  }
  Keys keys = {{"tokenizer.ggml.model", std::string("llama")},
               {"tokenizer.ggml.tokens", std::move(tokens)},
               {"tokenizer.ggml.scores", std::move(scores)},
               {"tokenizer.ggml.token_type", std::move(kinds)},
               {"tokenizer.ggml.add_space_prefix", model.space_in_front}};
  if (model.one_space_for_many) keys.emplace_back("tokenizer.ggml.remove_extra_whitespaces", true);
  return keys;
}

Keys keys_of(const GgufMetadata& metadata) {
  Keys keys;
  for (const auto& [key, value] : metadata.all())
    if (key.starts_with("tokenizer.")) keys.emplace_back(key, value);
  return keys;
}

/// \throws UsageError when GGUF has no name for what the file does
Keys keys_of(const json& file, const std::string& name) {
  const auto fail = [&](const std::string& what) {
    throw UsageError(fmt::format("{}: {}, for which GGUF has no name", name, what));
  };
  const TokenizerJson tokenizer(file, name);  // so the file is what it should be
  const json& model = file.at("model");
  if (!file.value("normalizer", json()).is_null()) fail("it has a normalizer");
  json pre_tokenizer = file.value("pre_tokenizer", json());
  const auto& known = known_words();
  const auto words =
      std::find_if(known.begin(), known.end(), [&](const Words& w) { return w.pre_tokenizer == pre_tokenizer; });
  if (words == known.end()) fail("its pre_tokenizer is none of " + names_of_known());
  std::vector<std::string> tokens;
  for (int64_t id = 0; id < tokenizer.size(); ++id) tokens.push_back(fmt::format("[PAD{}]", id));
  std::vector<int64_t> kinds(tokens.size(), int64_t(PieceKind::unused));
  for (const auto& [token, id] : model.at("vocab").items()) {
    tokens[id.get<size_t>()] = token;
    kinds[id.get<size_t>()] = int64_t(PieceKind::normal);
  }
  for (const json& added : file.value("added_tokens", json::array())) {
    const auto id = added.at("id").get<size_t>();
    tokens[id] = added.at("content");
    if (added.value("lstrip", false) || added.value("rstrip", false))
      fail(fmt::format("its token {:?} takes the spaces beside it along", tokens[id]));
    kinds[id] = int64_t(added.value("special", false) ? PieceKind::control : PieceKind::user_defined);
  }
  if (words->ignore_merges !=
      model.value("ignore_merges", false))  // which changes nothing where merges make each token
    for (size_t id = 0; id < tokens.size(); ++id)
      if (const std::string text = tokenizer.bytes_of(int32_t(id));
          kinds[id] == int64_t(PieceKind::normal) && is_utf8(text) && tokenizer.encode(text).size() != 1)
        fail(fmt::format("ignore_merges is {}, and merges do not make the token {:?}", !words->ignore_merges,
                         tokens[id]));
  std::vector<std::string> merges;
  for (const json& merge : model.at("merges"))
    merges.push_back(merge.is_string() ? merge.get<std::string>()
                                       : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  return {{"tokenizer.ggml.model", std::string("gpt2")},
          {"tokenizer.ggml.pre", std::string(words->gguf)},
          {"tokenizer.ggml.tokens", std::move(tokens)},
          {"tokenizer.ggml.token_type", std::move(kinds)},
          {"tokenizer.ggml.merges", std::move(merges)}};
}

}  // namespace

bool has_tokenizer(const GgufMetadata& m) {
  return m.has("tokenizer.ggml.model") && m.text("tokenizer.ggml.model") != no_gguf_tokenizer;
}

std::unique_ptr<Tokenizer> tokenizer_of_gguf(const GgufMetadata& m, const std::string& file) {
  const std::string& kind = m.text("tokenizer.ggml.model");
  if (kind == "llama") return sentencepiece_of(m, file);
  if (kind == "gpt2") return byte_level_of(m, file);
  m.fail("tokenizer.ggml.model", "llama or gpt2", kind);
}

Keys gguf_keys_of_tokenizer(const std::filesystem::path& file_or_directory) {
  const auto is = [&](const char* name) { return std::filesystem::exists(file_or_directory / name); };
  std::filesystem::path path = file_or_directory;
  if (std::filesystem::is_directory(path))  // SentencePiece's own files first, as a tokenizer.json has no scores
    path /= is("tokenizer.model") && !is_tiktoken(path / "tokenizer.model") ? "tokenizer.model"
            : is("tokenizer.bin")                                           ? "tokenizer.bin"
                                                                            : "tokenizer.json";
  if (!std::filesystem::exists(path) || (path.extension() == ".model" && is_tiktoken(path)))
    throw UsageError(path.string() + ": wanted a SentencePiece model or a tokenizer.json, for which GGUF has names");
  if (path.extension() == ".gguf") return keys_of(read_gguf_metadata(path));
  if (path.extension() == ".bin") return keys_of(read_llama2c(path));
  if (path.extension() == ".model") return keys_of(read_sentencepiece(path));
  const json file = parse_json(read_text(path), path.string());
  if (!file.is_object() || !file.contains("model"))
    throw UsageError(path.string() + ": it is no BPE, and GGUF has names for BPE alone");
  return keys_of(file, path.string());
}

std::string chat_template_in(const std::filesystem::path& directory) {
  if (std::filesystem::exists(directory / "chat_template.jinja")) return read_text(directory / "chat_template.jinja");
  if (!std::filesystem::exists(directory / "tokenizer_config.json")) return "";
  const json config = read_json_object(directory / "tokenizer_config.json"),
             found = config.value("chat_template", json());
  if (found.is_string()) return found;
  for (const json& each : found)  // several, by name
    if (each.is_object() && each.value("name", json()) == "default" && each.value("template", json()).is_string())
      return each["template"];
  return "";
}

}  // namespace rungs
