#include "rungs/grader/case_model.hpp"

#include <fmt/format.h>

#include "rungs/tensor/tap.hpp"

namespace rungs {

const DecoderCheckpoint& model_of(const CaseInput& in) {
  static std::map<std::string, DecoderCheckpoint> open;
  const auto it = open.find(in.model);
  return it != open.end() ? it->second : open.try_emplace(in.model, weights_directory() / in.model).first->second;
}

LinearWeights linear_of(const CaseInput& in, const std::string& name) {
  return {in[name + ".weight"].view(), in[name + ".bias"].view()};
}

void run_decoder_forward(const CaseInput& in, const std::function<DecoderForward>& forward, Recording& rec) {
  const DecoderCheckpoint& model = model_of(in);
  CountingOps ops(rec);
  Tensor logits({in["tokens"].count(), model.config.vocab_size});  // (T, V)
  forward(ops, logits, in["tokens"], model.weights);
  rec.output("logits", logits);
}

LayerCache layer_cache_of(const CaseInput& in) { return {in["cache.k"].copy(), in["cache.v"].copy()}; }

namespace {

/// One sequence that is fed call by call.
struct Sequence {
  Sequence(const DecoderCheckpoint& m, CachedForward* f) : model(m), forward(f) {
    const Config& c = model.config;
    const Shape shape = c.num_heads == 1 ? Shape{c.max_seq_len, c.head_dim}  // lesson 8: heads come with lesson 9
                                         : Shape{c.max_seq_len, c.num_kv_heads, c.head_dim};
    for (int64_t i = 0; i < c.num_layers; ++i) cache.layers.push_back({Tensor(shape), Tensor(shape)});
  }
  Tensor feed(Ops& ops, const Tensor& tokens) {
    Tensor logits({tokens.count(), model.config.vocab_size});  // (T, V)
    forward(ops, logits, tokens, model.weights, cache, position);
    position += tokens.count();
    return logits;
  }

  const DecoderCheckpoint& model;
  CachedForward* forward;
  KvCache cache;
  int64_t position = 0;
};

void run_one_call(const CaseInput& in, CachedForward* forward, Recording& rec) {
  const DecoderCheckpoint& model = model_of(in);
  CountingOps ops(rec);
  KvCache cache;
  const auto name = [](int64_t layer, const char* which) { return fmt::format("layers.{}.{}", layer, which); };
  for (int64_t i = 0; i < model.config.num_layers; ++i)
    cache.layers.push_back({in[name(i, "k")].copy(), in[name(i, "v")].copy()});
  Tensor logits({in["tokens"].count(), model.config.vocab_size});  // (T, V)
  forward(ops, logits, in["tokens"], model.weights, cache, int64_t(in.scalar("start_pos")));
  rec.output("logits", logits);
  for (int64_t i = 0; i < model.config.num_layers; ++i) {
    rec.output(name(i, "k"), cache.layers[size_t(i)].k);
    rec.output(name(i, "v"), cache.layers[size_t(i)].v);
  }
}

void run_last_logits(const CaseInput& in, CachedForward* forward, Recording& rec) {
  CountingOps ops(rec);
  Sequence sequence(model_of(in), forward);
  const Tensor logits = sequence.feed(ops, in["tokens"]);
  const auto from = int64_t(in.scalar("from"));
  rec.output("logits", logits.view_rows(from, logits.dim(0) - from));
}

void run_prompt(const CaseInput& in, CachedForward* forward, Recording& rec) {
  CountingOps ops(rec);
  Sequence sequence(model_of(in), forward), other(model_of(in), forward);
  const int64_t others = in.in.count("beside") ? in["beside"].count() : 0;
  const auto feed_other = [&](int64_t n) {
    n = std::min(n, others - other.position);
    const TapPause pause;
    if (n > 0) other.feed(ops, in["beside"].view_rows(other.position, n));
  };
  if (in.in.count("before")) {
    const TapPause pause;
    sequence.feed(ops, in["before"]);
    sequence.position = 0;  // the next prompt writes over it
  }
  const Tensor& split = in["split"];
  for (int64_t call = 0; call < split.count(); ++call) {
    const int32_t n = split.at<int32_t>(call);
    rec.output("logits", sequence.feed(ops, in["tokens"].view_rows(sequence.position, n)));
    feed_other(1);
  }
  feed_other(others);
}

}  // namespace

void run_cached_forward(const CaseInput& in, CachedForward* forward, Recording& rec) {
  if (in.run == "prompt")
    run_prompt(in, forward, rec);
  else if (in.run == "logits")
    run_last_logits(in, forward, rec);
  else
    run_one_call(in, forward, rec);
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
