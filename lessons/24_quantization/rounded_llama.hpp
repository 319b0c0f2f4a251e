/// What the program of lesson 24 measures: ways to round a matrix, and the story LLaMA on what they leave of its
/// weights.
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/npy.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace lesson_24 {

/// A matrix after rounding: the numbers that come back, the step of each group, the bits of an element with its scale.
struct Rounded {
  Tensor values, scale;
  double bits = 0;
};

/// int8 with one scale.  w: (K, C), as below.
inline Rounded per_tensor(const Tensor& w) {
  Int8 q = quantize_tensor(w);
  Tensor values(w.shape());
  dequantize_tensor(values, q);
  return {std::move(values), std::move(q.scale), 8};
}

/// int8 with a scale for each group of neighbours in a row.
inline Rounded per_group(const Tensor& w, int64_t group) {
  Int8 q = quantize_groups(w, group);
  Tensor values(w.shape());
  dequantize_groups(values, q, group);
  return {std::move(values), std::move(q.scale), 8 + 32.0 / double(group)};
}

/// Blocks in 4 bits.
inline Rounded four_bits(const Tensor& w) {
  const int64_t blocks = w.count() / block_elements;
  Tensor values(w.shape()), scale({blocks});
  Tensor out = values.reshaped({blocks, block_elements});
  const ConstTensor in = w.reshaped(out.shape());
  for (int64_t b = 0; b < blocks; ++b) {
    Tensor numbers = out[b];  // (32)
    const q4_0 block = quantize_block(in[b]);
    dequantize_block(numbers, block);
    scale(b) = to_float(block.scale);
  }
  return {std::move(values), std::move(scale), 4 + 16.0 / double(block_elements)};
}

/// One way to round; without a function, none.
struct Scheme {
  const char* name;
  Rounded (*round)(const Tensor& w) = nullptr;
  bool integers = false;    ///< products of whole numbers, x quantized on the fly
  bool int8_cache = false;  ///< keys and values rounded to int8, a scale for each token and head
};

/// The library's operations, but for what the scheme changes.
struct RoundedOps final : CpuOps {
  explicit RoundedOps(const Scheme& s) : scheme(s) {}
  Scheme scheme;
  std::map<const void*, Int8> weights;  ///< in whole numbers, each since its first product

  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override {
    if (!scheme.integers) return CpuOps::linear(out, x, weight, bias);
    const int64_t K = weight.dim(0), C = weight.dim(1), N = x.count() / C;
    Int8& w = weights[weight.raw()];
    if (w.q.empty()) w = quantize_groups(converted(weight, DType::f32), block_elements);
    Tensor flat = out.reshaped({N, K});
    lesson_24::linear(flat, x.reshaped({N, C}), w, block_elements);
  }
  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows, LayerCache* cache,
                 const AttentionOptions& options) override {
    if (!scheme.int8_cache) return CpuOps::attention(out, q, k, v, rows, cache, options);
    const int64_t N = k.dim(0), G = k.dim(1), D = k.dim(2);
    const Tensor keys = per_group(k.reshaped({N, G * D}), D).values,
                 values = per_group(v.reshaped({N, G * D}), D).values;
    CpuOps::attention(out, q, keys.reshaped(k.shape()), values.reshaped(k.shape()), rows, cache, options);
  }
  // The plain steps, which call linear above.
  void norm_qkv(const Qkv& out, Tensor& scratch, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                const RopeTables& rope, const Rows& rows) override {
    Steps::norm_qkv(out, scratch, x, norm, w, rope, rows);
  }
  void norm_swiglu(Tensor& out, Tensor& scratch_up, Tensor& scratch, const Tensor& x, const NormRef& norm,
                   const GateUpWeights& w) override {
    Steps::norm_swiglu(out, scratch_up, scratch, x, norm, w);
  }
};

/// What a model does with text that it has not been trained on, and what it writes.
struct Measured {
  Tensor logits;  ///< (tokens, V)
  double perplexity = 0;
  std::vector<std::vector<int32_t>> stories;  ///< greedy, to their end
  int64_t elements = 0;                       ///< of the matrices
};

/// The story LLaMA under a scheme.
inline Measured measure_stories(const Scheme& scheme) {
  LlamaCheckpoint llama(weights_directory() / "stories");
  LlamaWeights& w = llama.weights;
  Measured m;
  const auto round = [&](ConstTensor& matrix) {
    m.elements += matrix.count();
    if (scheme.round) matrix = scheme.round(converted(matrix, DType::f32)).values;
  };
  round(w.token_embedding);
  w.output = w.token_embedding.view();  // tied: one matrix
  for (LlamaLayer& l : w.layers)
    for (ConstTensor* matrix : {&l.qkv.q, &l.qkv.k, &l.qkv.v, &l.o, &l.gate_up.gate, &l.gate_up.up, &l.down})
      round(*matrix);

  const Tensor text = load_npy(weights_directory() / "references/held_out/stories.npy");  // (B, context + 1)
  const int64_t B = text.dim(0), T = text.dim(1) - 1;
  Batch batch;
  for (int64_t b = 0; b < B; ++b) batch.add(int32_t(b), {&text.at<int32_t>(b, 0), size_t(T)}, 0, /*only_last=*/false);
  RoundedOps ops(scheme);
  Llama model(ops, std::move(llama), {.max_rows = B * T});
  m.logits = Tensor({B * T, model.config().vocab_size});
  model.forward(m.logits, batch, nullptr);
  double loss = 0;
  int64_t count = 0;
  for (int64_t n = 0; n < B * T; ++n) {
    const int32_t next = text.at<int32_t>(n / T, n % T + 1);
    if (next == model.config().bos) continue;  // a new text begins: nobody can know which
    const ConstTensor row = m.logits[n];       // (V)
    double sum = 0;
    for (int64_t v = 0; v < row.count(); ++v) sum += std::exp(double(row(v)) - row(next));
    loss += std::log(sum), ++count;
  }
  m.perplexity = std::exp(loss / double(count));

  const auto words = load_tokenizer(weights_directory() / "stories");
  std::vector<std::vector<int32_t>> prompts;
  for (const char* begin :
       {"Once upon a time", "One day, a girl named Lily", "Tom had a red kite", "There was a dog"}) {
    prompts.push_back({*words->bos()});
    for (const int32_t id : words->encode(begin)) prompts.back().push_back(id);
  }
  m.stories = generate(model, prompts, {.sampling = {.temperature = 0}, .max_tokens = 150, .stop = model.config().eos});
  return m;
}

/// Tokens where the two agree on the best next token.
inline int64_t same_best(const Measured& a, const Measured& b) {
  const int64_t V = a.logits.dim(1);
  const auto best = [V](const Tensor& row) { return std::max_element(row.data(), row.data() + V) - row.data(); };
  int64_t same = 0;
  for (int64_t n = 0; n < a.logits.dim(0); ++n) same += best(a.logits[n]) == best(b.logits[n]);
  return same;
}

/// Tokens of the greedy stories before the first that differs, in all of them together.
inline int64_t same_text(const Measured& a, const Measured& b) {
  int64_t same = 0;
  for (size_t i = 0; i < a.stories.size(); ++i) {
    const auto &x = a.stories[i], &y = b.stories[i];
    same += std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin();
  }
  return same;
}

}  // namespace lesson_24
