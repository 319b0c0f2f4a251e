// Lesson 11: pairs that turn, distances that stay, and a start that nobody can tell.
#include <fmt/format.h>

#include "10_grouped_query/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/print.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;
using Ids = std::vector<int32_t>;
using Forward = decltype(lesson_11::decoder_forward)*;

/// q · k of a query at position p and a key at position s.
static float score(const Tensor& cos, const Tensor& sin, int64_t p, int64_t s) {
  Tensor q({1, 1, 4}), k({1, 1, 4});  // (T, H, D)
  const float query[] = {1, 2, 0, 1}, key[] = {2, 1, 1, 0};
  for (int64_t d = 0; d < 4; ++d) q.flat(d) = query[d], k.flat(d) = key[d];
  lesson_11::apply_rope(q, cos, sin, p);
  lesson_11::apply_rope(k, cos, sin, s);
  float sum = 0;
  for (int64_t d = 0; d < 4; ++d) sum += q.flat(d) * k.flat(d);
  return sum;
}

/// The logits after the last token of a text whose first token is said to stand at position `first`.
static Tensor logits_at(int64_t first, const Ids& text, const char* name, Forward forward) {
  DecoderCheckpoint model(weights_directory() / "hybrid" / name);
  const int64_t T = int64_t(text.size()), V = model.config.vocab_size;
  ConstTensor& learned = model.weights.position_embedding;  // (context, C), or empty
  RopeTables& rotary = model.weights.rotary;
  const ConstTensor cos = std::move(rotary.cos), sin = std::move(rotary.sin);  // (context, D/2), or empty
  if (learned) learned = learned.view_rows(first, T);
  if (cos) rotary = {cos.view_rows(first, T), sin.view_rows(first, T)};
  KvCache cache;
  const Shape room{T, model.config.num_kv_heads, model.config.head_dim};  // (capacity, G, D)
  for (int64_t i = 0; i < model.config.num_layers; ++i) cache.layers.push_back({Tensor(room), Tensor(room)});
  CpuOps ops;
  Tensor logits({T, V});  // (T, V)
  forward(ops, logits, Tensor::view_of(text.data(), {T}, DType::i32), model.weights, cache, 0);
  return logits.view_rows(T - 1, 1).copy();
}

int main(int argc, char** argv) {
  Tensor cos({128, 2}), sin({128, 2});  // (context, D/2)
  lesson_11::rope_table(cos, sin, 10000);
  const std::vector<std::string> positions{"position 0", "position 1", "position 2", "position 3"};
  print("cos of both pairs of a head of width 4", cos.view_rows(0, 4), positions);
  print("sin", sin.view_rows(0, 4), positions);

  Tensor x({4, 1, 4});  // (T, H, D): the same head at four positions
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = i % 4 < 2 ? 1.0f : 0.0f;
  lesson_11::apply_rope(x, cos, sin, 0);
  fmt::print("\n");
  print("1 1 0 0, rotated: pairs (0, 2) and (1, 3)", x, positions);

  fmt::print("\nscores of one query and one key, as far apart as before\n");
  for (const int64_t start : {0, 10, 100})
    fmt::print("  query at {:>3}, key at {:>3}: {:.3f}    key at {:>3}: {:.3f}\n", start + 3, start,
               score(cos, sin, start + 3, start), start + 2, score(cos, sin, start + 3, start + 2));

  const Vocabulary words(weights_directory() / "hybrid" / "11_rope" / "vocabulary.json");
  Ids text = words.encode(argc > 1 ? argv[1] : "Once upon a time, there was a");
  text.insert(text.begin(), *words.bos());
  const auto change = [&](int64_t first, const char* name, Forward forward) {
    const Tensor here = logits_at(0, text, name, forward), there = logits_at(first, text, name, forward);
    float most = 0;
    for (int64_t i = 0; i < here.count(); ++i) most = std::max(most, std::abs(here.flat(i) - there.flat(i)));
    return most;
  };
  fmt::print("\nthe whole text at a late start: the largest change of a logit\n");
  for (const int64_t first : {1, 10, 100})
    fmt::print("  at {:>3}: learned positions {:.1f}, rotary positions {:.3f}\n", first,
               change(first, "10_grouped_query", lesson_10::decoder_forward),
               change(first, "11_rope", lesson_11::decoder_forward));
}
