// A lesson's solution is the plain version, the library's is the fast one: here the two are held equal.
#include <random>

#include "01_tensor/lesson.hpp"
#include "02_embedding/lesson.hpp"
#include "03_layer_norm/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "05_attention/lesson.hpp"
#include "06_causal_mask/lesson.hpp"
#include "07_generate/lesson.hpp"
#include "08_kv_cache/lesson.hpp"
#include "09_multi_head/lesson.hpp"
#include "10_grouped_query/lesson.hpp"
#include "11_rope/lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/grader/case.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tokenizer/vocabulary.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

/// Two sums of n products of numbers below 1 in magnitude, each in its own order: γ_n each way (Higham 2002,
/// section 3.1).
static Tolerance two_sums_of(int64_t n) { return {2 * double(n + 2) * unit_roundoff * double(n)}; }

/// Two float32 runs of the trained decoder, each within the tolerance that its reference case gives to one.
static Tolerance two_float32_runs() {
  const Case c = load_case(weights_directory() / "references/06_causal_mask/22_decoder_forward_story_24");
  return {2 * c.find("logits")->absolute};
}

static void check_equal(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  const Comparison c = compare(got, want, tolerance);
  INFO("the worst element: got ", c.got, ", want ", c.want, ", ", c.fraction, " of the tolerance");
  CHECK(c.pass);
}

static const DecoderCheckpoint& trained() {
  static const DecoderCheckpoint checkpoint(weights_directory() / "decoder");
  return checkpoint;
}

static std::vector<int32_t> some_tokens(int64_t n) {
  std::vector<int32_t> tokens{trained().config.bos};
  for (int64_t i = 1; i < n; ++i) tokens.push_back(int32_t((i * 37 + 5) % trained().config.vocab_size));
  return tokens;
}

static ConstTensor ids(const std::vector<int32_t>& tokens) {
  return Tensor::view_of(tokens.data(), {int64_t(tokens.size())}, DType::i32);
}

/// The library's logits of a whole sequence, without the cache.
static Tensor library_logits(const std::vector<int32_t>& tokens) {
  CpuOps ops;
  Decoder decoder(ops, weights_directory() / "decoder", {.max_rows = int64_t(tokens.size())});
  Batch batch;
  batch.add(0, tokens, 0, false);
  Tensor logits({batch.rows(), decoder.config().vocab_size});  // (T, V)
  decoder.forward(logits, batch, nullptr);
  return logits;
}

TEST_CASE("lesson 01: linear with loops equals the library's") {
  CpuOps ops;
  const Tensor x = random_tensor({9, 33}, 1), weight = random_tensor({17, 33}, 2), bias = random_tensor({17}, 3);
  Tensor plain({9, 17}), fast({9, 17});
  lesson_01::linear(plain, x, weight, bias);
  ops.linear(fast, x, weight, bias);
  check_equal(plain, fast, two_sums_of(34));
}

TEST_CASE("lesson 02: encode gives the library's ids, and refuses what it refuses") {
  const Vocabulary vocabulary(weights_directory() / "decoder/vocabulary.json");
  std::vector<std::string> texts{"", " ", "\n", "a", "the<eos>", "  the  then\n\nthere,theatre ", "\n the"};
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {  // tokens one behind the other, and single characters, so that words run together
    texts.emplace_back();
    for (int n = 0; n < 12; ++n) texts.back() += vocabulary.tokens()[random() % vocabulary.tokens().size()];
  }
  for (const std::string& text : texts) {
    INFO(text);
    CHECK(lesson_02::encode(vocabulary.tokens(), text) == vocabulary.encode(text));
  }
  for (const char* text : {"caf\xc3\xa9", "\tthe", "the\r\n"}) {
    INFO(text);
    CHECK_THROWS_AS(vocabulary.encode(text), UsageError);
    CHECK_THROWS_AS(lesson_02::encode(vocabulary.tokens(), text), UsageError);
  }
}

TEST_CASE("lesson 03: layer_norm equals the library's") {
  CpuOps ops;
  const Tensor x = random_tensor({9, 33}, 1), weight = random_tensor({33}, 2), bias = random_tensor({33}, 3);
  Tensor plain({9, 33}), fast({9, 33});
  lesson_03::layer_norm(plain, x, weight, bias, 1e-5f);
  ops.layer_norm(fast, x, weight, bias, 1e-5f);
  check_equal(plain, fast, two_sums_of(33));
}

TEST_CASE("lesson 04: relu equals the library's") {
  CpuOps ops;
  Tensor plain = random_tensor({9, 33}, 1), fast = plain.copy();
  lesson_04::relu(plain);
  ops.relu(fast);
  check_equal(plain, fast, {0});
}

TEST_CASE("lessons 05, 06 and 08: sdpa equals the library's, with and without a past") {
  CpuOps ops;
  const Tensor q = random_tensor({9, 16}, 1), k = random_tensor({9, 16}, 2), v = random_tensor({9, 16}, 3);
  const auto one_head = [](const Tensor& x) { return x.reshaped({x.dim(0), 1, x.dim(1)}); };
  const auto library = [&](Tensor& out, const Tensor& queries) {
    Tensor read = out.reshaped({out.dim(0), 1, out.dim(1)});
    ops.sdpa(read, one_head(queries), one_head(k), one_head(v));
  };
  Tensor plain({9, 16}), fast({9, 16});
  lesson_06::sdpa(plain, q, k, v);
  library(fast, q);
  check_equal(plain, fast, two_sums_of(16));

  const ConstTensor last = q.view_rows(6, 3);  // three queries after six tokens
  Tensor plain_rows({3, 16}), fast_rows({3, 16}), all_see_all({1, 16});
  lesson_08::sdpa(plain_rows, last, k, v);
  library(fast_rows, last);
  check_equal(plain_rows, fast_rows, two_sums_of(16));

  lesson_05::sdpa(all_see_all, q.view_rows(8, 1), k, v);  // the last query sees every key, mask or no mask
  check_equal(all_see_all, fast.view_rows(8, 1), two_sums_of(16));
}

TEST_CASE("lesson 06: the decoder's logits equal the library's") {
  CpuOps ops;
  const std::vector<int32_t> tokens = some_tokens(40);
  Tensor logits({40, trained().config.vocab_size});
  lesson_06::decoder_forward(ops, logits, ids(tokens), trained().weights);
  check_equal(logits, library_logits(tokens), two_float32_runs());
}

TEST_CASE("lesson 08: cached logits equal the library's up to the last position of the context") {
  CpuOps ops;
  const Config& config = trained().config;
  const std::vector<int32_t> tokens = some_tokens(config.max_seq_len);
  KvCache cache;
  for (int64_t i = 0; i < config.num_layers; ++i)
    cache.layers.push_back(
        {Tensor({config.max_seq_len, config.head_dim}), Tensor({config.max_seq_len, config.head_dim})});
  Tensor logits({config.max_seq_len, config.vocab_size});
  for (int64_t start = 0; start < config.max_seq_len;) {
    const int64_t n =
        std::min<int64_t>(start == 0 ? config.max_seq_len - 3 : 1, config.max_seq_len - start);  // prefill, then steps
    Tensor rows = logits.view_rows(start, n);
    lesson_08::decoder_forward(ops, rows, ids(tokens).view_rows(start, n), trained().weights, cache, start);
    start += n;
  }
  check_equal(logits.view_rows(config.max_seq_len - 8, 8), library_logits(tokens).view_rows(config.max_seq_len - 8, 8),
              two_float32_runs());
}

TEST_CASE("lessons 09 and 10: sdpa with heads equals the library's, with and without a past") {
  CpuOps ops;
  for (const int64_t G : {6, 3, 2, 1}) {
    const Tensor q = random_tensor({3, 6, 16}, 1), k = random_tensor({9, G, 16}, 2), v = random_tensor({9, G, 16}, 3);
    Tensor plain({3, 6, 16}), fast({3, 6, 16});
    lesson_10::sdpa(plain, q, k, v);
    ops.sdpa(fast, q, k, v);
    check_equal(plain, fast, two_sums_of(16));
    if (G != 6) continue;
    lesson_09::sdpa(plain, q, k, v);
    check_equal(plain, fast, two_sums_of(16));
  }
}

TEST_CASE("lesson 11: the table of angles and the rotation equal the library's, up to the last position") {
  CpuOps ops;
  Tensor cos({40, 8}), sin({40, 8});
  lesson_11::rope_table(cos, sin, 10000);
  const RopeTables rotary = rope_table({}, 16, 40);
  check_equal(cos, rotary.cos, {unit_roundoff});
  check_equal(sin, rotary.sin, {unit_roundoff});

  Tensor plain = random_tensor({5, 3, 16}, 1), fast = plain.copy();
  lesson_11::apply_rope(plain, cos, sin, 35);
  ops.apply_rope(fast, rotary, ids({35, 36, 37, 38, 39}));
  check_equal(plain, fast, {8 * unit_roundoff});
}

TEST_CASE("lesson 07: the distribution and the draws equal the library's") {
  const Tensor logits = random_tensor({50}, 4);
  for (const SampleOptions& options : {SampleOptions{0, 0, 1}, {1, 0, 1}, {0.7, 5, 1}, {1.3, 0, 0.8}, {0.5, 20, 0.9}}) {
    Tensor plain({50}), fast({50});
    std::vector<int32_t> order;
    lesson_07::probabilities(plain, logits, options);
    probabilities({fast.data(), 50}, {logits.data(), 50}, options, order);
    check_equal(plain, fast, {50 * 4 * unit_roundoff});
    for (const double draw : {0.0, 0.25, 0.5, 0.999})
      CHECK(lesson_07::sample(fast, draw) == sample({fast.data(), 50}, draw));
  }
}

TEST_CASE("lessons 07 and 08: generate gives the library's text") {
  const std::vector<int32_t> prompt = some_tokens(5);
  for (const double temperature : {0.0, 0.8}) {
    GenerateOptions options;
    options.sampling.temperature = temperature;
    options.max_tokens = 24;
    options.stop = trained().config.eos;
    options.seed = 7;
    CpuOps ops;
    Decoder decoder(ops, weights_directory() / "decoder", {.max_rows = 64});
    const std::vector<int32_t> want = generate(decoder, {prompt}, options)[0];
    std::mt19937_64 first(options.seed), second(options.seed);
    CHECK(lesson_07::generate(ops, trained().weights, prompt, options, [&] { return draw(first); }) == want);
    CHECK(lesson_08::generate(ops, trained().weights, prompt, options, [&] { return draw(second); }) == want);
  }
}

TEST_SUITE_END();
