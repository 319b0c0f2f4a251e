#include "rungs/grader/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rungs/base/file.hpp"
#include "rungs/tensor/npy.hpp"

namespace rungs {

namespace fs = std::filesystem;
using nlohmann::json;

const Tensor& CaseInput::operator[](const std::string& key) const {
  const auto it = in.find(key);
  if (it == in.end()) throw FileError(fmt::format("case {}: wanted the input {}, found none", name, key));
  return it->second;
}

CaseInput CaseInput::copy() const {
  CaseInput c{name, run, model, {}, fresh};
  for (const auto& [key, tensor] : in) c.in.emplace(key, tensor.copy());
  return c;
}

CaseInput CaseInput::with_fresh(FreshMemory memory) const {
  CaseInput c = copy();
  c.fresh = memory;
  return c;
}

const Reference* Case::find(const std::string& tensor) const {
  const auto it =
      std::find_if(references.begin(), references.end(), [&](const Reference& r) { return r.name == tensor; });
  return it == references.end() ? nullptr : &*it;
}

Case Case::copy() const {
  Case c{input.copy(), says, error, {}, linear_rows};
  for (const Reference& r : references)
    c.references.push_back({r.name, r.value.copy(), r.dims, r.absolute, r.each.copy(), r.is_output});
  return c;
}

static NamedTensors load_folder(const fs::path& folder) {
  NamedTensors tensors;
  if (!fs::exists(folder)) return tensors;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".npy") tensors.emplace(entry.path().stem().string(), load_npy(entry.path()));
  return tensors;
}

Case load_case(const fs::path& directory) try {
  const json j = json::parse(read_text(directory / "case.json"));
  Case c;
  c.input.name = directory.filename().string();
  c.input.run = j.at("run").get<std::string>();
  c.input.model = j.value("model", "");
  c.input.in = load_folder(directory / "in");
  c.says = j.value("says", "");
  c.error = j.value("error", "");

  NamedTensors out = load_folder(directory / "out"), taps = load_folder(directory / "taps");
  NamedTensors tolerances = load_folder(directory / "tolerance");
  for (const json& t : j.at("tensors")) {
    Reference r;
    r.name = t.at("name").get<std::string>();
    r.is_output = out.count(r.name) != 0;
    NamedTensors& from = r.is_output ? out : taps;
    if (!from.count(r.name))
      throw FileError(
          fmt::format("{}: {}: wanted {}.npy in out/ or taps/, found none", directory.string(), r.name, r.name));
    r.value = std::move(from.at(r.name));
    r.dims = t.at("dims").get<std::vector<std::string>>();
    r.absolute = tolerance_per_error32 * t.value("error32", 0.0);
    if (tolerances.count(r.name)) r.each = std::move(tolerances.at(r.name));
    c.references.push_back(std::move(r));
  }
  if (c.references.empty() && c.error.empty())
    throw FileError(directory.string() + ": case.json: tensors: wanted at least one, found none");
  return c;
} catch (const json::exception& e) {
  throw FileError(fmt::format("{}: {}", (directory / "case.json").string(), e.what()));
}

std::vector<Case> load_cases(const fs::path& directory) {
  std::vector<fs::path> folders;
  if (fs::exists(directory))
    for (const auto& entry : fs::directory_iterator(directory))
      if (fs::exists(entry.path() / "case.json")) folders.push_back(entry.path());
  if (folders.empty()) throw FileError(directory.string() + ": wanted reference cases, found none");
  std::sort(folders.begin(), folders.end());
  std::vector<Case> cases;
  for (const fs::path& folder : folders) cases.push_back(load_case(folder));
  return cases;
}

}  // namespace rungs
