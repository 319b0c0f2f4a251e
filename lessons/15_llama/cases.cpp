#include <map>

#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_15 {

/// The checkpoint that the case names, opened once in a runner process.
static const LlamaCheckpoint& llama_of(const CaseInput& in) {
  static std::map<std::string, LlamaCheckpoint> open;
  const auto it = open.find(in.model);
  return it != open.end() ? it->second : open.try_emplace(in.model, weights_directory() / in.model).first->second;
}

static std::span<const int32_t> numbers(const Tensor& t) { return {t.data<int32_t>(), size_t(t.count())}; }
static Ids list(const Tensor& t) { return {numbers(t).begin(), numbers(t).end()}; }

static KvCache new_cache(const Config& c, int64_t sequences, int64_t capacity) {
  KvCache cache;
  for (int64_t i = 0; i < c.num_layers; ++i) {
    const Shape shape{sequences, capacity, c.num_kv_heads, c.head_dim};  // (B, capacity, G, D)
    cache.layers.push_back({Tensor(shape), Tensor(shape)});
  }
  return cache;
}

static std::string layer_name(size_t i, const char* what) { return "layers." + std::to_string(i) + "." + what; }

static void run_weights(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const LlamaCheckpoint& model = llama_of(in);
  const RopeTables rotary = pieces.rotary_table(model.config.rope, model.config.head_dim, model.config.max_seq_len);
  rec.output("cos", rotary.cos);
  rec.output("sin", rotary.sin);
  rec.output("output", converted(pieces.output_weight(model.file, model.config), DType::f32));
}

/// Rows of any sequences, in as many calls as `calls` says.
static void run_forward(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const LlamaCheckpoint& model = llama_of(in);
  CountingOps ops(rec);
  const Ids token = list(in["tokens"]), sequence = list(in["sequence"]), position = list(in["position"]);
  const auto N = int32_t(token.size());
  const bool filled = in.in.count("layers.0.k") > 0;
  KvCache cache;
  if (filled)
    for (size_t i = 0; i < model.weights.layers.size(); ++i)
      cache.layers.push_back({in[layer_name(i, "k")].copy(), in[layer_name(i, "v")].copy()});
  else
    cache = new_cache(model.config, *std::max_element(sequence.begin(), sequence.end()) + 1,
                      int64_t(in.scalar("capacity")));
  size_t first = 0;
  for (const int32_t rows : in.in.count("calls") ? list(in["calls"]) : Ids{N}) {
    Batch batch;
    for (int32_t n = 0; n < rows; ++n, ++first) {
      batch.token.push_back(token[first]), batch.sequence.push_back(sequence[first]);
      batch.position.push_back(position[first]), batch.logit_rows.push_back(n);
    }
    Tensor logits({rows, model.config.vocab_size});  // (N, V)
    pieces.llama_forward(ops, logits, batch, model.weights, cache);
    rec.output("logits", logits);
  }
  if (!filled) return;
  for (size_t i = 0; i < cache.layers.size(); ++i) {
    rec.output(layer_name(i, "k"), cache.layers[i].k);
    rec.output(layer_name(i, "v"), cache.layers[i].v);
  }
}

/// One prompt in one call, of which the rows from `from` on are wanted.
static void run_logits(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const LlamaCheckpoint& model = llama_of(in);
  CountingOps ops(rec);
  Batch batch;
  batch.add(0, numbers(in["tokens"]), 0, /*only_last=*/false);
  batch.logit_rows.erase(batch.logit_rows.begin(), batch.logit_rows.begin() + int64_t(in.scalar("from")));
  KvCache cache = new_cache(model.config, 1, batch.rows());
  Tensor logits({int64_t(batch.logit_rows.size()), model.config.vocab_size});  // (M, V)
  pieces.llama_forward(ops, logits, batch, model.weights, cache);
  rec.output("logits", logits);
}

/// A prompt in the calls that `split` says. First, on the same cache, the tokens `before`; or, in the very same calls,
/// the rows of another sequence, `beside`.
static void run_prompt(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const LlamaCheckpoint& model = llama_of(in);
  CountingOps ops(rec);
  KvCache cache = new_cache(model.config, 2, model.config.max_seq_len);
  const auto feed = [&](const Batch& batch) {
    Tensor logits({int64_t(batch.logit_rows.size()), model.config.vocab_size});  // (M, V)
    pieces.llama_forward(ops, logits, batch, model.weights, cache);
    return logits;
  };
  if (in.in.count("before")) {
    const TapPause pause;
    Batch batch;
    batch.add(1, numbers(in["before"]), 0, /*only_last=*/false);
    feed(batch);
  }
  std::span<const int32_t> left = numbers(in["tokens"]), other;
  if (in.in.count("beside")) other = numbers(in["beside"]);
  int64_t position = 0, other_position = 0;
  for (const int32_t rows : numbers(in["split"])) {
    Batch batch;
    const bool last = size_t(rows) == left.size();
    const size_t n = last ? other.size() : std::min<size_t>(1, other.size());
    batch.add(0, other.first(n), other_position, false);
    other = other.subspan(n), other_position += int64_t(n);
    batch.add(1, left.first(size_t(rows)), position, false);
    left = left.subspan(size_t(rows)), position += rows;
    std::optional<TapPause> pause;
    if (in.in.count("beside")) pause.emplace();  // the rows of two sequences stand in each tensor
    rec.output("logits", feed(batch).view_rows(int64_t(n), rows));
  }
}

static void run_generate(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const LlamaCheckpoint& model = llama_of(in);
  CountingOps ops(rec);
  const int64_t most = int64_t(in.scalar("max_tokens"));
  GenerateOptions options;
  options.max_tokens = most;
  if (in.in.count("temperature")) options.sampling = sample_options_of(in);
  if (in.in.count("eos")) options.stop = list(in["eos"]);
  std::vector<Ids> prompts;  // as generate gets them, without the BOS that each begins with
  std::span<const int32_t> left = numbers(in["tokens"]);
  const int32_t bos = left.front();
  for (const int32_t length : numbers(in["lengths"])) {
    prompts.emplace_back(left.begin() + 1, left.begin() + length);
    left = left.subspan(size_t(length));
  }
  std::vector<int64_t> drawn(prompts.size(), 0);
  const auto draw = [&](int64_t b) {
    return in.in.count("draws") ? in["draws"].value(b * most + drawn[size_t(b)]++) : 0.0;
  };
  const std::vector<Ids> made =
      pieces.generate(ops, model.weights, bos, prompts, options, draw, [](int64_t, int32_t) {});
  Ids tokens, counts;
  for (const Ids& ids : made) {
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    counts.push_back(int32_t(ids.size()));
  }
  rec.output("tokens", Tensor::view_of(tokens.data(), {int64_t(tokens.size())}, DType::i32));
  rec.output("counts", Tensor::view_of(counts.data(), {int64_t(counts.size())}, DType::i32));
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "weights")
    run_weights(in, pieces, rec);
  else if (in.run == "llama_forward")
    run_forward(in, pieces, rec);
  else if (in.run == "logits")
    run_logits(in, pieces, rec);
  else if (in.run == "prompt")
    run_prompt(in, pieces, rec);
  else
    run_generate(in, pieces, rec);
}

}  // namespace lesson_15
