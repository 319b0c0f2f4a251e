// The loss of lesson 8b on the models of lessons 9 to 13: the table in weights/hybrid/README.md, which PyTorch printed.
#include <cmath>

#include "08b_loss/lesson.hpp"
#include "09_multi_head/lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/npy.hpp"
#include "rungs/tokenizer/vocabulary.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

TEST_CASE("lesson 08b: the loss of the model with six heads is that of its table") {
  const std::filesystem::path folder = weights_directory() / "hybrid/09_multi_head";
  const DecoderCheckpoint model(folder);
  const int32_t end = *Vocabulary(folder / "vocabulary.json").eos();
  Tensor rows = load_npy(weights_directory() / "references/held_out/decoder.npy");  // (B, T + 1) i32
  const int64_t B = rows.dim(0), T = rows.dim(1) - 1, V = model.config.vocab_size;
  REQUIRE(B == 128);

  CpuOps ops;
  KvCache cache;
  for (size_t i = 0; i < model.weights.layers.size(); ++i) {
    const Shape heads{T, model.config.num_heads, model.config.head_dim};
    cache.layers.push_back({Tensor(heads), Tensor(heads)});
  }
  double total = 0, n = 0;
  for (int64_t b = 0; b < B; ++b) {
    const Tensor tokens = Tensor::view_of(&rows.at<int32_t>(b, 0), {T + 1}, DType::i32);  // (T + 1)
    Tensor logits({T + 1, V}), computed = logits.view_rows(0, T);                         // (T, V)
    for (int64_t v = 0; v < V; ++v) logits(T, v) = 0;                                     // predicts nothing
    lesson_09::decoder_forward(ops, computed, tokens.view_rows(0, T), model.weights, cache, 0);
    double counted = 0;
    for (int64_t t = 0; t < T; ++t) counted += tokens.at<int32_t>(t) != end;
    total += counted * lesson_08b::loss(logits, tokens, end), n += counted;
  }
  CHECK(std::round(1e4 * total / n) == 4213);
}
