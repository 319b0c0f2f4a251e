#include "rungs/checkpoint/shards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rungs/base/fields.hpp"
#include "rungs/checkpoint/safetensors.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

/// Which tensors each shard holds, as the index says.
static std::map<std::string, std::vector<std::string>> read_index(const fs::path& path) {
  const std::string file = path.string();
  const json index = read_json_object(path);
  const json& map = Fields(index, file).at("weight_map");
  const Fields checked(map, file, "weight_map.");
  std::map<std::string, std::vector<std::string>> shards;
  for (const auto& [name, shard] : map.items()) {
    // A name and no path: an index must not reach for files elsewhere.
    if (!shard.is_string() || fs::path(shard.get<std::string>()).filename() != shard.get<std::string>() ||
        !shard.get<std::string>().ends_with(".safetensors") || shard.get<std::string>().find('\0') != std::string::npos)
      throw FileError(fmt::format("{}: weight_map: {}: wanted the name of a .safetensors file beside it, found {}",
                                  file, name, brief(shard)));
    shards[shard.get<std::string>()].push_back(name);
  }
  if (shards.empty()) throw FileError(fmt::format("{}: weight_map: wanted tensors, found none", file));
  return shards;
}

/// "model-00001-of-00002.safetensors"
static bool is_shard_name(const std::string& name) {
  return name.starts_with("model-") && name.find("-of-") != std::string::npos && name.ends_with(".safetensors");
}

static void check_no_other_shards(const fs::path& directory, const fs::path& index,
                                  const std::map<std::string, std::vector<std::string>>& shards) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (is_shard_name(name) && !shards.count(name))
      throw FileError(
          fmt::format("{}: wanted every shard in it, found {}, which it does not name", index.string(), name));
  }
}

static TensorSet open_index(const fs::path& directory, const fs::path& index) {
  const auto shards = read_index(index);
  check_no_other_shards(directory, index, shards);
  TensorSet all(index);
  for (const auto& [shard, names] : shards) {
    const fs::path path = directory / shard;
    if (!fs::exists(path))
      throw FileError(
          fmt::format("{}: wanted this shard, which {} names, found none", path.string(), index.filename().string()));
    SafeTensors file(path);
    for (const std::string& name : names)
      if (!file.has(name))
        throw FileError(fmt::format("{}: {}: wanted this tensor here, as {} says, found none", path.string(), name,
                                    index.filename().string()));
    if (file.names().size() != names.size())
      for (const std::string& name : file.names())
        if (std::find(names.begin(), names.end(), name) == names.end())
          throw FileError(fmt::format("{}: {}: wanted the tensors that {} places here, found this one besides",
                                      path.string(), name, index.filename().string()));
    all.merge(std::move(file));
  }
  return all;
}

/// What somebody may have put there instead, and what to do with it.
static std::string advice(const fs::path& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("consolidated") && name.ends_with(".pth"))
      return "; " + name + " is Meta's own format: weights/convert/convert_meta.py turns it into this one";
    if (name.ends_with(".bin") || name.ends_with(".pth") || name.ends_with(".pt"))
      return "; " + name + " is PyTorch's own format: save the model as safetensors";
    if (is_shard_name(name)) return "; shards such as " + name + " need their index";
  }
  return "";
}

TensorSet open_shards(const fs::path& directory) {
  const fs::path single = directory / "model.safetensors", index = directory / "model.safetensors.index.json";
  if (fs::exists(single)) return SafeTensors(single);
  if (fs::exists(index)) return open_index(directory, index);
  throw FileError(fmt::format("{}: cannot be opened: there is neither this file nor {}{}", single.string(),
                              index.filename().string(), advice(directory)));
}

}  // namespace rungs
