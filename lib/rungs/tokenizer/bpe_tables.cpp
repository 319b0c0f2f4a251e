#include "rungs/tokenizer/bpe_tables.hpp"

#include <fmt/format.h>

#include <limits>

#include "rungs/base/error.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/json.hpp"
#include "rungs/tokenizer/byte_level.hpp"
#include "rungs/tokenizer/split.hpp"

namespace rungs {

using nlohmann::json;

BpeTables load_bpe_tables(const std::filesystem::path& path) try {
  const std::string file = path.string();
  const json j = parse_json(read_text(path), file), &model = j.at("model");
  BpeTables bpe;
  const json &vocabulary = model.at("vocab"), &added = j.at("added_tokens");
  std::map<std::string, int32_t> ids;
  const auto id_of = [&](const std::string& name, const json& id) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<int32_t>::max())
      throw FileError(fmt::format("{}: token {}: wanted an id, found {}", file, brief(name), brief(id)));
    return id.get<int32_t>();
  };
  for (const auto& [name, id] : vocabulary.items()) ids[name] = id_of(name, id);
  for (const json& token : added) {
    const std::string name = token.at("content").get<std::string>();
    ids[name] = bpe.specials[name] = id_of(name, token.at("id"));
  }
  bpe.tokens.resize(ids.size());
  bpe.byte_tokens.fill(-1);
  for (const auto& [shown, id] : ids) {
    if (size_t(id) >= ids.size() || !bpe.tokens[size_t(id)].empty())
      throw FileError(
          fmt::format("{}: token {}: wanted an id of its own below {}, found {}", file, brief(shown), ids.size(), id));
    const auto read = bpe.specials.contains(shown) ? shown : read_bytes(shown);
    if (!read) throw FileError(fmt::format("{}: token {}: wanted the alphabet of bytes", file, shown));
    const std::string& bytes = bpe.tokens[size_t(id)] = *read;
    if (bytes.size() == 1) bpe.byte_tokens[uint8_t(bytes[0])] = id;
  }
  for (size_t byte = 0; byte < 256; ++byte)
    if (bpe.byte_tokens[byte] < 0) throw FileError(fmt::format("{}: the byte {} has no token", file, byte));
  for (const json& pair : model.at("merges")) {
    const std::string left = pair.at(0).get<std::string>(), right = pair.at(1).get<std::string>();
    const auto id = [&](const std::string& name) {
      if (!ids.contains(name)) throw FileError(fmt::format("{}: a merge names {}, which is no token", file, name));
      return ids.at(name);
    };
    bpe.merges[{id(left), id(right)}] = {int32_t(bpe.merges.size()), id(left + right)};
  }
  const Pattern pattern(j.at("/pre_tokenizer/pretokenizers/0/pattern/Regex"_json_pointer).get<std::string>());
  bpe.split = [pattern](std::string_view text) { return split(text, pattern); };
  return bpe;
} catch (const json::exception& e) {
  throw FileError(fmt::format("{}: no byte-level BPE: {}", path.string(), e.what()));
}

}  // namespace rungs
