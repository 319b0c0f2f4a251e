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

void run_decoder_forward(const CaseInput& in, DecoderForward* forward, Recording& rec) {
  const DecoderCheckpoint& model = model_of(in);
  CountingOps ops(rec);
  Tensor logits({in["tokens"].count(), model.config.vocabulary});  // (T, V)
  forward(ops, logits, in["tokens"], model.weights);
  rec.output("logits", logits);
}

SampleOptions sample_options_of(const CaseInput& in) {
  return {in.scalar("temperature"), int64_t(in.scalar("top_k")), in.scalar("top_p")};
}

void run_generate(const CaseInput& in, Generate* generate, Recording& rec) {
  const DecoderCheckpoint& model = model_of(in);
  CountingOps ops(rec);
  GenerateOptions options;
  options.sampling = sample_options_of(in);
  options.max_tokens = int64_t(in.scalar("max_tokens"));
  options.stop = model.config.eos;
  const int32_t* prompt = in["prompt"].data<int32_t>();
  int64_t drawn = 0;
  const auto draw = [&] { return in["draws"].value(drawn++); };
  const std::vector<int32_t> made =
      generate(ops, model.weights, {prompt, prompt + in["prompt"].count()}, options, draw);
  rec.output("tokens", Tensor::view_of(made.data(), {int64_t(made.size())}, DType::i32));
}

AttentionWeights attention_of(const CaseInput& in) {
  return {linear_of(in, "q"), linear_of(in, "k"), linear_of(in, "v"), linear_of(in, "o")};
}

}  // namespace rungs
