// Lesson 10: which head a query reads, and what the cache takes now.
#include <fmt/format.h>

#include <algorithm>

#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/print.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;
using Ids = std::vector<int32_t>;

static void print_groups(int64_t H, int64_t G) {
  fmt::print("  H = {}, G = {}: ", H, G);
  for (int64_t h = 0; h < H; ++h) fmt::print("{} ", lesson_10::kv_head_of(h, H, G));
  fmt::print("\n");
}

int main(int argc, char** argv) {
  fmt::print("the key/value head that query head 0, 1, 2, ... reads\n");
  for (const int64_t G : {6, 3, 2, 1}) print_groups(6, G);

  // One token reads itself, so each query head returns the value that it reads.
  Tensor q({1, 6, 2}), k({1, 3, 2}), v({1, 3, 2}), out({1, 6, 2});  // (T, H, D), (S, G, D), (S, G, D), (T, H, D)
  for (int64_t i = 0; i < 12; ++i) q.flat(i) = 1;
  for (int64_t i = 0; i < 6; ++i) k.flat(i) = 1, v.flat(i) = float(i);
  lesson_10::sdpa(out, q, k, v);
  fmt::print("\n");
  print("three heads of values", v, {"head 0", "head 1", "head 2"});
  print("what six query heads read", out, {"head 0", "head 1", "head 2", "head 3", "head 4", "head 5"});

  fmt::print("\nthe cache, in floats a token\n");
  for (const char* name : {"09_multi_head", "10_grouped_query"}) {
    const Config c = load_config(weights_directory() / "hybrid" / name);
    fmt::print("  {:<16}  2 L G D = 2 · {} · {} · {:>2} = {}\n", name, c.num_layers, c.num_kv_heads, c.head_dim,
               lesson_10::cache_bytes(c, 1, 1));
  }

  Config large;
  large.num_layers = 32, large.num_heads = 32, large.head_dim = 128, large.hidden_size = 4096;
  fmt::print("\nthe cache of 8000 tokens in 16 bits, 32 layers of 32 query heads of width 128, in GiB\n");
  for (const int64_t G : {32, 8, 1}) {
    large.num_kv_heads = G;
    fmt::print("  G = {:>2}: {:.2f}\n", G, double(lesson_10::cache_bytes(large, 8000, 2)) / (1 << 30));
  }

  const DecoderCheckpoint model(weights_directory() / "hybrid" / "10_grouped_query");
  const Vocabulary words(weights_directory() / "hybrid" / "10_grouped_query" / "vocabulary.json");
  const Config& c = model.config;
  const char* begin = argc > 1 ? argv[1] : "Once upon a time, there was a";
  Ids text = words.encode(begin);
  text.insert(text.begin(), *words.bos());
  const size_t prompt = text.size();
  KvCache cache;
  const Shape room{int64_t(prompt) + 23, c.num_kv_heads, c.head_dim};  // (capacity, G, D)
  for (int64_t i = 0; i < c.num_layers; ++i) cache.layers.push_back({Tensor(room), Tensor(room)});
  CpuOps ops;
  for (int64_t start = 0; text.size() < prompt + 23;) {  // feed what is new, take the most probable token
    const int64_t T = int64_t(text.size()) - start;
    Tensor logits({T, c.vocab_size});  // (T, V)
    lesson_10::decoder_forward(ops, logits, Tensor::view_of(text.data() + start, {T}, DType::i32), model.weights, cache,
                               start);
    start += T;
    const Tensor last = logits[T - 1];  // (V)
    text.push_back(int32_t(std::max_element(last.data(), last.data() + c.vocab_size) - last.data()));
  }
  fmt::print("\n{} {}\n", begin, words.decode({text.begin() + std::ptrdiff_t(prompt), text.end()}));
}
