#include "grade/case_model.hpp"
#include "pieces.hpp"
#include "tensor/tap.hpp"

namespace lesson_08 {

/// The caches of a case, layers.I.k and layers.I.v, copied: the case's own stay as they are.
static KvCache cache_of(const CaseInput& in, size_t layers) {
  KvCache cache;
  for (size_t i = 0; i < layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    cache.layers.push_back({in[layer + "k"].copy(), in[layer + "v"].copy()});
  }
  return cache;
}

/// One sequence that is fed call by call.
struct Sequence {
  KvCache cache;
  int64_t position = 0;
};

static Sequence new_sequence(const DecoderCheckpoint& model) {
  Sequence s;
  for (int64_t i = 0; i < model.config.layers; ++i) {
    const Shape shape{model.config.context, model.config.head_width};  // (capacity, D)
    s.cache.layers.push_back({Tensor(shape), Tensor(shape)});
  }
  return s;
}

static Tensor feed(Ops& ops, const Pieces& pieces, const DecoderCheckpoint& model, Sequence& s, const Tensor& tokens) {
  Tensor logits({tokens.count(), model.config.vocabulary});  // (T, V)
  pieces.decoder_forward(ops, logits, tokens, model.weights, s.cache, s.position);
  s.position += tokens.count();
  return logits;
}

/// A prompt in the calls that `split` says. First, on the same cache, the tokens `before`; or, in step with it, another
/// sequence, `beside`.
static void run_prompt(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const DecoderCheckpoint& model = model_of(in);
  CountingOps ops(rec);
  Sequence sequence = new_sequence(model), other = new_sequence(model);
  const int64_t others = in.in.count("beside") ? in["beside"].count() : 0;
  const auto feed_other = [&](int64_t n) {
    n = std::min(n, others - other.position);
    const TapPause pause;
    if (n > 0) feed(ops, pieces, model, other, in["beside"].view_rows(other.position, n));
  };
  if (in.in.count("before")) {
    const TapPause pause;
    feed(ops, pieces, model, sequence, in["before"]);
    sequence.position = 0;  // the next prompt writes over it
  }
  const Tensor& split = in["split"];
  for (int64_t call = 0; call < split.count(); ++call) {
    rec.output("logits",
               feed(ops, pieces, model, sequence, in["tokens"].view_rows(sequence.position, split.at<int32_t>(call))));
    feed_other(1);
  }
  feed_other(others);
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  CountingOps ops(rec);
  if (in.run == "attend") {
    Tensor out(in["q"].shape());  // (T, D)
    pieces.attend(out, in["q"], in["k"], in["v"]);
    rec.output("out", out);
  } else if (in.run == "attention") {
    LayerCache cache{in["cache.k"].copy(), in["cache.v"].copy()};  // (capacity, D)
    Tensor out(in["x"].shape());                                   // (T, C)
    pieces.attention(ops, out, in["x"], attention_of(in), cache, int64_t(in.scalar("start_pos")));
    rec.output("out", out);
    rec.output("cache.k", cache.k);
    rec.output("cache.v", cache.v);
  } else if (in.run == "decoder_forward") {
    const DecoderCheckpoint& model = model_of(in);
    KvCache cache = cache_of(in, model.weights.layers.size());
    Tensor logits({in["tokens"].count(), model.config.vocabulary});  // (T, V)
    pieces.decoder_forward(ops, logits, in["tokens"], model.weights, cache, int64_t(in.scalar("start_pos")));
    rec.output("logits", logits);
    for (size_t i = 0; i < cache.layers.size(); ++i) {
      rec.output("layers." + std::to_string(i) + ".k", cache.layers[i].k);
      rec.output("layers." + std::to_string(i) + ".v", cache.layers[i].v);
    }
  } else if (in.run == "prompt") {
    run_prompt(in, pieces, rec);
  } else {
    run_generate(in, pieces.generate, rec);
  }
}

}  // namespace lesson_08
