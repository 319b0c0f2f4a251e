// Whole models through both CUDA implementations: the saved references, the CPU's text, and what a step costs.
#include <fmt/format.h>

#include "devices.hpp"
#include "generate/tiny_model.hpp"
#include "model/llama_cases.hpp"
#include "rungs/checkpoint/safetensors.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

static const Effort effort{.large = !kernels_are_checked(), .uncached = false, .stride = 3};

TEST_CASE("on the device logits and caches of every LLaMA equal those of transformers") {
  on_both([](CudaDevice& ops) { check_logits_and_caches(ops, effort); });
}

TEST_CASE("on the device every tap of a LLaMA equals that of transformers") {
  on_both([](CudaDevice& ops) { check_taps(ops, effort); });
}

TEST_CASE("on the device a LLaMA gives the logits of a prompt at splits and after a reset") {
  on_both([](CudaDevice& ops) { check_splits(ops, effort); });
}

TEST_CASE("on the device a LLaMA continues a batch of prompts as transformers continues each alone") {
  on_both([](CudaDevice& ops) { check_generation(ops, {.large = false, .uncached = false}); });
}

TEST_CASE("on the device the trained LLaMA agrees with transformers up to the last position of its context" *
          doctest::skip(kernels_are_checked())) {
  on_both([](CudaDevice& ops) { check_last_position(ops, effort); });
}

TEST_CASE("on the device the decoder gives the logits and taps of PyTorch and with a cache the same") {
  on_both([](CudaDevice& ops) {
    int64_t taps = 0;
    for (const Case& c : load_cases(weights_directory() / "references/06_causal_mask")) {
      if (c.input.run != "decoder_forward" || !c.error.empty()) continue;
      const Ids tokens = ids(c.input["tokens"]);
      const auto T = int64_t(tokens.size());
      Decoder decoder(ops, weights_directory() / c.input.model, {.max_rows = T});
      watch_taps([&](const std::string& name, const Tensor& tensor) {
        if (!c.find(name)) return;
        const Tensor found = on_host(ops, tensor);  // lesson 6 has no heads: (T, D)
        CHECK(wrong(c, name, found.reshaped({found.dim(0), found.count() / found.dim(0)})) == "");
        ++taps;
      });
      Batch batch;
      batch.add(0, tokens, 0, false);
      CHECK(wrong(c, "logits", logits_of(decoder, batch, nullptr)) == "");
      watch_taps({});
      KvCache cache(ops, decoder.config(), 1, T);
      for (const int64_t chunk : {T, (T + 1) / 2, int64_t(1)})
        for (int64_t begin = 0; begin < T; begin += chunk) {
          Batch part;
          part.add(0, std::span(tokens).subspan(size_t(begin), size_t(std::min(chunk, T - begin))), begin, false);
          CHECK(wrong(c, "logits", logits_of(decoder, part, &cache), begin) == "");
        }
    }
    CHECK(taps > 20);
  });
}

namespace {

std::filesystem::path stories() { return weights_directory() / "stories"; }

/// The trained LLaMA on one device.
struct Stories {
  std::unique_ptr<Model> model;
  explicit Stories(const Backend& backend) : model(load_model(backend, stories(), {.max_rows = 64, .context = 160})) {}
};

std::vector<Ids> story_prompts() {
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(stories() / "tokenizer.json");
  std::vector<Ids> prompts;
  for (const char* text : {"Once upon a time", "", "The little dog wanted to play with the big red ball in the park"}) {
    Ids tokens = tokenizer->encode(text);
    tokens.insert(tokens.begin(), *tokenizer->bos());
    prompts.push_back(tokens);
  }
  return prompts;
}

/// How near the choice after these tokens was: to the second best logit, or of the draw to an edge of the
/// probabilities.
double margin(Model& cpu, const Ids& tokens, const SampleOptions& options, double draw) {
  Batch batch;
  batch.add(0, tokens, 0, true);
  const Tensor logits = logits_of(cpu, batch, nullptr);
  std::vector<float> row(logits.data(), logits.data() + logits.count()), p(row.size());
  if (options.temperature == 0) {
    std::partial_sort(row.begin(), row.begin() + 2, row.end(), std::greater<>());
    return double(row[0]) - double(row[1]);
  }
  Ids order;
  probabilities(p, row, options, order);
  double sum = 0, nearest = 1;
  for (const float x : p) sum += double(x), nearest = std::min(nearest, std::fabs(sum - draw));
  return nearest;
}

}  // namespace

// The logits of two paths are each within the tolerance of the saved logits of the whole context. Two that are equal
// but for that, or a draw that lands beside an edge, may be decided either way: there the comparison ends.
TEST_CASE("the device generates the CPU's text whether greedy or sampled" * doctest::skip(kernels_are_checked())) {
  CpuOps cpu_ops;
  Stories cpu(cpu_ops);
  const double tolerance = cases("logits").at(0)->find("logits")->tolerance().absolute;
  on_both([&](CudaDevice& ops) {
    Stories device(ops);
    for (const SampleOptions& sampling :
         {SampleOptions{}, SampleOptions{.temperature = 0.8, .top_k = 40, .top_p = 0.9}}) {
      const GenerateOptions options{.sampling = sampling, .seed = 5, .max_tokens = 6, .context = 160};
      const auto prompts = story_prompts();
      const auto want = generate(*cpu.model, prompts, options), got = generate(*device.model, prompts, options);
      for (size_t i = 0; i < prompts.size(); ++i) {
        if (want[i] == got[i]) continue;
        std::mt19937_64 random(options.seed + i);
        const auto [w, g] = std::mismatch(want[i].begin(), want[i].end(), got[i].begin(), got[i].end());
        Ids before = prompts[i];
        before.insert(before.end(), want[i].begin(), w);
        double number = 0;
        for (auto step = want[i].begin(); step <= w && sampling.temperature > 0; ++step) number = draw(random);
        const double near = margin(*cpu.model, before, sampling, number);
        MESSAGE(
            fmt::format("prompt {}: the texts part at token {}, where the margin is {}", i, w - want[i].begin(), near));
        CHECK(near <= 2 * tolerance / (sampling.temperature > 0 ? sampling.temperature : 1));
      }
    }
  });
}

TEST_CASE("on the device the cache does not change the text and a batch gives each prompt what it gets alone" *
          doctest::skip(kernels_are_checked())) {
  on_both([](CudaDevice& ops) {
    Stories device(ops);
    const auto prompts = story_prompts();
    GenerateOptions options{.sampling = {.temperature = 0.8, .top_p = 0.9}, .seed = 3, .max_tokens = 3, .context = 160};
    const auto together = generate(*device.model, prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i, ++options.seed) {
      CHECK(generate(*device.model, {prompts[i]}, options)[0] == together[i]);
      GenerateOptions uncached = options;
      uncached.cache = false;
      CHECK(generate(*device.model, {prompts[i]}, uncached)[0] == together[i]);
    }
  });
}

/// Logits of tokens fed one by one from position `start` on, the first kept as they were at once.
static std::vector<Tensor> steps(Model& model, Tensor& logits, KvCache& cache, const Ids& tokens, int32_t sequence,
                                 int64_t start) {
  std::vector<Tensor> all;
  for (const int32_t token : tokens) {
    Batch batch;
    batch.add(sequence, Ids{token}, start++, true);
    model.forward(logits, batch, &cache);
    all.push_back(from(model.backend().device, logits));
  }
  return all;
}

TEST_CASE("a KV cache of CUDA in fewer bits is refused") {
  const Config c = load_config(weights_directory() / "stories");
  CHECK_THROWS_WITH_AS(KvCache(cuda_ops(), c, 2, 40, DType::f16),
                       "a KV cache of CUDA: wanted f32, found f16; the CPU has the others", UsageError);
}

TEST_CASE("a replayed step reads its token and position and sequence and cache anew") {
  CpuOps cpu_ops;
  Stories cpu(cpu_ops), device(cuda_ops());
  const Config& c = cpu.model->config();
  const double tolerance = 2 * cases("logits").at(0)->find("logits")->tolerance().absolute;
  Tensor want = cpu_ops.allocate({1, c.vocab_size}), got = cuda_ops().allocate({1, c.vocab_size});
  Tensor other = cuda_ops().allocate({1, c.vocab_size});
  KvCache cpu_a(cpu_ops, c, 2, 40), cpu_b(cpu_ops, c, 2, 40), a(cuda_ops(), c, 2, 40), b(cuda_ops(), c, 2, 40);
  const auto same = [&](KvCache& on_cpu, KvCache& on_device, Tensor& logits, const Ids& tokens, int32_t sequence,
                        int64_t start) {
    const auto x = steps(*cpu.model, want, on_cpu, tokens, sequence, start);
    const auto y = steps(*device.model, logits, on_device, tokens, sequence, start);
    for (size_t i = 0; i < x.size(); ++i) CHECK(passes(compare(y[i], x[i], {.absolute = tolerance})));
  };
  const int64_t captures = cuda_traffic.captures, replays = cuda_traffic.replays;
  same(cpu_a, a, got, {0, 300, 301, 302, 303}, 0, 0);
  CHECK(cuda_traffic.replays > replays);
  same(cpu_a, a, got, {0, 400, 17}, 1, 0);     // another sequence of the same cache
  same(cpu_a, a, got, {9, 500, 3}, 0, 5);      // the first goes on
  same(cpu_a, a, got, {0, 9, 77, 40}, 0, 0);   // a second prompt, over the first
  same(cpu_b, b, got, {0, 50, 60, 70}, 1, 0);  // another cache
  same(cpu_a, a, other, {5, 6, 7}, 0, 4);      // other logits
  same(cpu_a, a, got, {8, 12}, 1, 3);
  CHECK(cuda_traffic.captures >= captures + 3);  // one for each cache and each place of logits
  {
    Stories second(cuda_ops());  // another model in the same calls
    KvCache own(cuda_ops(), c, 2, 40);
    const auto x = steps(*cpu.model, want, cpu_b, {0, 1, 2, 3}, 0, 0);
    const auto y = steps(*second.model, got, own, {0, 1, 2, 3}, 0, 0);
    for (size_t i = 0; i < x.size(); ++i) CHECK(passes(compare(y[i], x[i], {.absolute = tolerance})));
  }
  same(cpu_b, b, got, {4, 5, 6, 7}, 1, 4);  // after memory was given back, which may be another's now
}

// The second model stands where the first stood, so its steps have the same keys; its weights are elsewhere on the
// device.
TEST_CASE("a graph is forgotten where memory was given back") {
  CpuOps cpu_ops;
  Stories cpu(cpu_ops);
  const Config& c = cpu.model->config();
  const double tolerance = 2 * cases("logits").at(0)->find("logits")->tolerance().absolute;
  Tensor want = cpu_ops.allocate({1, c.vocab_size}), got = cuda_ops().allocate({1, c.vocab_size});
  KvCache cpu_cache(cpu_ops, c, 1, 40), cache(cuda_ops(), c, 1, 40);
  const auto expected = steps(*cpu.model, want, cpu_cache, {0, 1, 2, 3}, 0, 0);
  alignas(Llama) std::byte place[sizeof(Llama)];
  std::vector<Tensor> blocks;  // take what the first model gives back
  for (int round = 0; round < 2; ++round) {
    auto* model = new (place) Llama(cuda_ops(), stories(), {.max_rows = 64, .context = 160});
    const auto given = steps(*model, got, cache, {0, 1, 2, 3}, 0, 0);
    for (size_t i = 0; i < given.size(); ++i) CHECK(passes(compare(given[i], expected[i], {.absolute = tolerance})));
    model->~Llama();
    for (int i = 0; i < 60; ++i) blocks.push_back(to(cuda_ops(), Tensor({1 + i % 5 * 9000})));  // of NaN
  }
}

TEST_CASE("on the device a token costs no memory and brings home itself alone" * doctest::skip(kernels_are_checked())) {
  on_both([](CudaDevice& ops) {
    Stories device(ops);
    for (const SampleOptions& sampling : {SampleOptions{}, SampleOptions{.temperature = 1, .top_p = 0.9}}) {
      std::vector<CudaTraffic> after;
      const std::vector<Ids> prompts = {{0, 300, 301}, {0}};
      generate(*device.model, prompts, {.sampling = sampling, .max_tokens = 7, .context = 160},
               [&](const Step&) { after.push_back(cuda_traffic); });
      const CudaTraffic &first = after[5], &last = after.back();  // both sequences, from the third step on
      const int64_t between = 7 - 3;
      CHECK(last.allocations == first.allocations);
      CHECK(last.downloads == first.downloads + between);
      CHECK(last.downloaded == first.downloaded + between * 2 * int64_t(sizeof(int32_t)));
      CHECK(last.uploads <= first.uploads + between * 2);  // where the rows stand, and the draws
    }
  });
}

TEST_CASE("on the device weights that are not finite are an error that names the first tap") {
  const TinyModel files;
  files.break_weight("layers.1.attention.q.weight");
  on_both([&](CudaDevice& ops) {
    const auto model = load_model(ops, files.path);
    const std::string sentence =
        "layers.1.q is the first tensor that is not finite: the weights in " + files.path.string() + " are broken";
    for (const double temperature : {0.0, 1.0})
      for (const bool cache : {true, false}) {
        const GenerateOptions options{.sampling = {.temperature = temperature}, .max_tokens = 4, .cache = cache};
        CHECK_THROWS_WITH_AS(generate(*model, {{0, 24}}, options), sentence.c_str(), Error);
      }
  });
}

TEST_SUITE_END();
