#include "rungs/model/generation_config.hpp"

#include "rungs/base/fields.hpp"

namespace rungs {

GenerationConfig load_generation_config(const std::filesystem::path& directory, int64_t vocabulary) {
  const std::filesystem::path path = directory / "generation_config.json";
  GenerationConfig config;
  if (!std::filesystem::exists(path)) return config;
  const nlohmann::json object = read_json_object(path);
  const Fields fields(object, path.string());
  config.eos = fields.whole_list("eos_token_id", 0, vocabulary - 1);
  if (fields.has("temperature")) {
    config.temperature = fields.number("temperature", -1, 1e6);
    if (*config.temperature < 0) fields.fail("temperature", "at least 0");
  }
  if (fields.has("top_p")) {
    config.top_p = fields.number("top_p", 0, 2);
    if (*config.top_p > 1) fields.fail("top_p", "at most 1");
  }
  if (fields.has("top_k")) config.top_k = fields.whole("top_k", 0, int64_t(1) << 24);
  config.sample = fields.truth("do_sample", false);
  return config;
}

SampleOptions sample_options(const SamplingWishes& asked, const GenerationConfig& model, const SampleOptions& usual) {
  const SamplingWishes file = model.sample ? SamplingWishes(model) : SamplingWishes();
  return {.temperature = asked.temperature.value_or(file.temperature.value_or(usual.temperature)),
          .top_k = asked.top_k.value_or(file.top_k.value_or(usual.top_k)),
          .top_p = asked.top_p.value_or(file.top_p.value_or(usual.top_p))};
}

}  // namespace rungs
