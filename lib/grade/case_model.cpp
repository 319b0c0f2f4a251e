#include "grade/case_model.hpp"

namespace rungs {

const DecoderCheckpoint& model_of(const CaseInput& in) {
  static std::map<std::string, DecoderCheckpoint> open;
  const auto it = open.find(in.model);
  return it != open.end() ? it->second : open.try_emplace(in.model, weights_directory() / in.model).first->second;
}

LinearWeights linear_of(const CaseInput& in, const std::string& name) {
  return {in[name + ".weight"].view(), in[name + ".bias"].view()};
}

AttentionWeights attention_of(const CaseInput& in) {
  return {linear_of(in, "q"), linear_of(in, "k"), linear_of(in, "v"), linear_of(in, "o")};
}

}  // namespace rungs
