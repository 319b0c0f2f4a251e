// Lesson 8b: what the loss says about a text, a row of a table measured again, and a layer that learns.
#include <fmt/format.h>

#include <cmath>

#include "06_causal_mask/lesson.hpp"
#include "08_kv_cache/lesson.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/npy.hpp"
#include "rungs/tokenizer/vocabulary.hpp"

using namespace rungs;
using Ids = std::vector<int32_t>;

/// Keeps the input of the last product: in a forward pass, the rows that the output projection sees.
struct KeepsRows : CpuOps {
  Tensor x;  // (T, C)
  void linear(Tensor& out, const Tensor& in, const Tensor& weight, const Tensor& bias) override {
    x = in.copy();
    CpuOps::linear(out, in, weight, bias);
  }
};

/// Stories that no model was trained on, in rows of a context and one token more.
struct Stories {
  Tensor rows = load_npy(weights_directory() / "references/held_out/decoder.npy");  // (128, 257) i32
  Tensor row(int64_t i, int64_t length) {                                           // (length)
    return Tensor::view_of(rows.data<int32_t>() + i * rows.dim(1), {length}, DType::i32);
  }
};

/// The mean loss of several rows: each weighs as much as it has tokens to predict.
struct MeanLoss {
  double total = 0, n = 0;
  void add(const Tensor& logits, const Tensor& tokens, int32_t end) {
    double rows = 0;
    for (int64_t t = 0; t + 1 < tokens.count(); ++t) rows += tokens.at<int32_t>(t) != end;
    total += rows * lesson_08b::loss(logits, tokens, end), n += rows;
  }
  double value() const { return total / n; }
};

static void look_at(const std::string& text, const DecoderWeights& w, const Vocabulary& words) {
  CpuOps ops;
  Ids ids = words.encode(text);
  ids.insert(ids.begin(), *words.bos());
  const int64_t T = int64_t(ids.size()), V = words.size();
  const Tensor tokens = Tensor::view_of(ids.data(), {T}, DType::i32);  // (T)
  Tensor logits({T, V}), log_p({T, V});                                // (T, V)
  lesson_06::decoder_forward(ops, logits, tokens, w);
  lesson_08b::log_softmax(log_p, logits);
  fmt::print("{}\n  token          p   -ln p\n", text);
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    const float log_of_next = log_p(int64_t(t), ids[t + 1]);
    fmt::print("  {:<8}{:>8.3f}{:>8.2f}\n", words.tokens()[size_t(ids[t + 1])], std::exp(log_of_next), -log_of_next);
  }
  const double loss = lesson_08b::loss(logits, tokens, *words.eos());
  fmt::print("  loss {:.2f} nats a token, perplexity {:.2f}\n\n", loss, lesson_08b::perplexity(loss));
}

/// On all rows of `stories`.
static double loss_of(const DecoderWeights& w, Stories& stories, int32_t end) {
  CpuOps ops;
  const int64_t length = stories.rows.dim(1), T = length - 1, V = w.output.weight.dim(0);
  MeanLoss mean;
  for (int64_t i = 0; i < stories.rows.dim(0); ++i) {
    Tensor logits({length, V});                      // (257, V): the last row predicts nothing, and is not computed
    Tensor of_the_context = logits.view_rows(0, T);  // (256, V)
    for (int64_t v = 0; v < V; ++v) logits(T, v) = 0;
    lesson_06::decoder_forward(ops, of_the_context, stories.row(i, T), w);
    mean.add(logits, stories.row(i, length), end);
  }
  return mean.value();
}

/// The output projection of the decoder forgets everything and learns again; the rest of the model stays as it is.
static void learn(DecoderCheckpoint& model, const Vocabulary& words, Stories& stories) {
  const int64_t V = words.size(), C = model.config.hidden_size, T = 128, both = 64;
  const int32_t end = *words.eos();
  KeepsRows ops;
  std::vector<Tensor> x;        // of each row of stories, (T, C): what the output projection sees
  MeanLoss of_the_trained_one;  // on the second half, which it does not learn from here
  for (int64_t i = 0; i < 2 * both; ++i) {
    Tensor logits({T, V});  // (T, V)
    lesson_06::decoder_forward(ops, logits, stories.row(i, T), model.weights);
    x.push_back(std::move(ops.x));
    if (i >= both) of_the_trained_one.add(logits, stories.row(i, T), end);
  }

  Tensor weight({V, C}), bias({V});  // (V, C), (V)
  for (int64_t i = 0; i < weight.count(); ++i) weight.flat(i) = 0;
  for (int64_t v = 0; v < V; ++v) bias(v) = 0;
  model.weights.output = {weight.view(), bias.view()};
  Ids prompt = words.encode("Once upon a time");
  prompt.insert(prompt.begin(), *words.bos());
  fmt::print("An output projection of zeros learns, {} x {} numbers and {} biases; ln {} = {:.2f}\n", V, C, V, V,
             std::log(V));
  fmt::print("  steps   loss   perplexity   \"Once upon a time\"\n");
  const double start = now();
  for (int64_t step = 0; step <= 128; ++step) {
    if (step == 0 || (step & (step - 1)) == 0) {
      MeanLoss mean;
      for (int64_t i = both; i < 2 * both; ++i) {
        Tensor logits({T, V});  // (T, V)
        ops.CpuOps::linear(logits, x[size_t(i)], weight, bias);
        mean.add(logits, stories.row(i, T), end);
      }
      const Ids made =
          lesson_08::generate(ops, model.weights, prompt, {.max_tokens = 10, .stop = {end}}, [] { return 0.0; });
      fmt::print("  {:>5}{:>7.2f}{:>13.1f}  {}\n", step, mean.value(), lesson_08b::perplexity(mean.value()),
                 words.decode(made));
    }
    lesson_08b::train_step(ops, weight, bias, x[size_t(step % both)], stories.row(step % both, T), end, 1.0F);
  }
  fmt::print("  the trained one: loss {:.2f}\n\n", of_the_trained_one.value());
  fmt::print("time to learn: {:.1f} s\n", now() - start);
}

int main(int argc, char** argv) {
  DecoderCheckpoint model(weights_directory() / "decoder");
  const Vocabulary words(weights_directory() / "decoder" / "vocabulary.json");
  look_at("Once upon a time, there was a little girl", model.weights, words);
  look_at(argc > 1 ? argv[1] : "Once upon a girl, there was a little time", model.weights, words);

  Stories stories;
  fmt::print("On {} contexts of {} tokens that it was not trained on: loss {:.4f}\n\n", stories.rows.dim(0),
             stories.rows.dim(1) - 1, loss_of(model.weights, stories, *words.eos()));
  learn(model, words, stories);
}
