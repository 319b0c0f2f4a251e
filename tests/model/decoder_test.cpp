#include "rungs/model/decoder.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "rungs/base/file.hpp"
#include "rungs/grader/case.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/tap.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("model");

using Tokens = std::vector<int32_t>;

/// A prompt with PyTorch's logits for it.
struct Prompt {
  Case reference;
  Tokens tokens;

  std::filesystem::path model() const { return weights_directory() / reference.input.model; }
  const Reference& logits() const { return *reference.find("logits"); }
};

/// Every case of whole-model logits of lesson 06.
static const std::vector<Prompt>& prompts() {
  static const std::vector<Prompt> all = [] {
    std::vector<Prompt> list;
    for (Case& c : load_cases(weights_directory() / "references/06_causal_mask")) {
      if (c.input.run != "decoder_forward" || !c.error.empty()) continue;
      const Tensor& tokens = c.input["tokens"];
      Tokens ids;
      for (int64_t t = 0; t < tokens.count(); ++t) ids.push_back(tokens.at<int32_t>(t));
      list.push_back({std::move(c), std::move(ids)});
    }
    return list;
  }();
  REQUIRE(!all.empty());
  return all;
}

/// "" when rows of logits, the first for position `start`, are PyTorch's.
static std::string wrong(const Tensor& logits, const Prompt& prompt, int64_t start) {
  const ConstTensor want = prompt.logits().value.view_rows(start, logits.dim(0));
  const Comparison c = compare(logits, want, prompt.logits().tolerance());
  return c.pass
             ? ""
             : fmt::format("{}: position {}, {} times the tolerance", prompt.reference.input.name, start, c.fraction);
}

/// Feeds tokens [start, start + count) of a prompt as one call.
static Tensor feed(Decoder& decoder, const Prompt& prompt, int64_t start, int64_t count, KvCache* cache,
                   int32_t sequence = 0) {
  Batch batch;
  batch.add(sequence, std::span(prompt.tokens).subspan(size_t(start), size_t(count)), start, false);
  Tensor logits({count, decoder.config().vocab_size});
  decoder.forward(logits, batch, cache);
  return logits;
}

TEST_CASE("logits and every tap equal PyTorch's") {
  CpuOps ops;
  std::set<std::string> compared;
  for (const Prompt& prompt : prompts()) {
    Decoder decoder(ops, prompt.model());
    watch_taps([&](const std::string& name, const Tensor& tensor) {
      const Reference* reference = prompt.reference.find(name);
      if (!reference) return;
      CAPTURE(prompt.reference.input.name);
      CAPTURE(name);
      const ConstTensor found = tensor.reshaped({tensor.dim(0), tensor.count() / tensor.dim(0)});
      const Comparison c = compare(found, reference->value, reference->tolerance());  // (T, D): lesson 6 has no heads
      CHECK(c.shape_problem == "");
      CHECK(c.wrong == 0);
      compared.insert(name);
    });
    const Tensor logits = feed(decoder, prompt, 0, int64_t(prompt.tokens.size()), nullptr);
    watch_taps({});
    CHECK(wrong(logits, prompt, 0) == "");
  }
  CHECK(compared.count("logits") == 1);
  CHECK(compared.count("layers.1.attn_out") == 1);
  CHECK(compared.size() >= 20);
}

TEST_CASE("the cache changes nothing, at every split of every prompt and token by token") {
  CpuOps ops;
  for (const Prompt& prompt : prompts()) {
    Decoder decoder(ops, prompt.model());
    const auto T = int64_t(prompt.tokens.size());
    KvCache cache(ops, decoder.config(), 1, T);  // stays dirty from split to split
    for (int64_t split = 1; split < T; ++split) {
      CHECK(wrong(feed(decoder, prompt, 0, split, &cache), prompt, 0) == "");
      CHECK(wrong(feed(decoder, prompt, split, T - split, &cache), prompt, split) == "");
    }
    for (const int64_t chunk : {1, 2, 3})
      for (int64_t start = 0; start < T; start += chunk)
        CHECK(wrong(feed(decoder, prompt, start, std::min(chunk, T - start), &cache), prompt, start) == "");
  }
}

TEST_CASE("sequences of different lengths in one batch are each as alone, with the cache and without") {
  CpuOps ops;
  for (const bool with_cache : {false, true}) {
    std::map<std::filesystem::path, std::vector<const Prompt*>> by_model;
    for (const Prompt& prompt : prompts()) by_model[prompt.model()].push_back(&prompt);
    for (const auto& [model, list] : by_model) {
      REQUIRE(list.size() > 1);
      Decoder decoder(ops, model, {.max_rows = 200});
      KvCache cache(ops, decoder.config(), int64_t(list.size()), decoder.config().max_seq_len);
      Batch batch;
      for (size_t b = 0; b < list.size(); ++b) batch.add(int32_t(b), list[b]->tokens, 0, false);
      Tensor logits({batch.rows(), decoder.config().vocab_size});
      decoder.forward(logits, batch, with_cache ? &cache : nullptr);
      int64_t first = 0;
      for (const Prompt* prompt : list) {
        const auto T = int64_t(prompt->tokens.size());
        CHECK(wrong(logits.view_rows(first, T), *prompt, 0) == "");
        first += T;
      }
    }
  }
}

TEST_CASE("one sequence decodes while another is still in its prompt") {
  CpuOps ops;
  const Prompt& a = prompts().back();
  const auto T = int64_t(a.tokens.size());
  REQUIRE(T >= 5);
  Decoder decoder(ops, a.model());
  KvCache cache(ops, decoder.config(), 3, T);
  feed(decoder, a, 0, T - 1, &cache, 2);
  Batch batch;
  batch.add(0, std::span(a.tokens).first(4), 0, true);
  batch.add(2, std::span(a.tokens).last(1), T - 1, true);
  Tensor logits({2, decoder.config().vocab_size});
  decoder.forward(logits, batch, &cache);
  CHECK(wrong(logits.view_rows(0, 1), a, 3) == "");
  CHECK(wrong(logits.view_rows(1, 1), a, T - 1) == "");
}

TEST_CASE("a call may want no logits, or those of some rows") {
  CpuOps ops;
  const Prompt& prompt = prompts().back();
  Decoder decoder(ops, prompt.model());
  KvCache cache(ops, decoder.config(), 1, 5);
  Batch batch;
  batch.add(0, std::span(prompt.tokens).first(4), 0, false);
  batch.logit_rows = {3, 1};
  Tensor two({2, decoder.config().vocab_size});
  decoder.forward(two, batch, nullptr);
  CHECK(wrong(two.view_rows(0, 1), prompt, 3) == "");
  CHECK(wrong(two.view_rows(1, 1), prompt, 1) == "");
  batch.logit_rows.clear();
  Tensor none({0, decoder.config().vocab_size});
  decoder.forward(none, batch, &cache);
  CHECK(wrong(feed(decoder, prompt, 4, 1, &cache), prompt, 4) == "");
}

TEST_CASE("a call outside the vocabulary, the context or the planned rows is refused, and the model still works") {
  CpuOps ops;
  const Prompt& prompt = prompts().back();
  Decoder decoder(ops, prompt.model(), {.max_rows = 6});
  const Config& c = decoder.config();
  const auto refused = [&](const Tokens& tokens, int64_t start, const char* sentence) {
    Batch batch;
    KvCache cache(ops, c, 1, c.max_seq_len);
    batch.add(0, tokens, start, true);
    Tensor logits({1, c.vocab_size});
    CHECK_THROWS_WITH_AS(decoder.forward(logits, batch, &cache), Contains(sentence), UsageError);
  };
  refused({int32_t(c.vocab_size)}, 0, "is not in [0, ");
  refused({0}, c.max_seq_len, "is outside the model's context of");
  refused(Tokens(7, 0), 0, "loaded for at most 6");
  Batch batch;
  batch.add(0, Tokens{0}, 0, true);
  Tensor logits({1, c.vocab_size - 1});
  CHECK_THROWS_AS(decoder.forward(logits, batch, nullptr), ShapeError);
  CHECK(wrong(feed(decoder, prompt, 0, 5, nullptr), prompt, 0) == "");
}

/// A copy of a small model whose tensors a test may change before it is saved.
struct DecoderCopy {
  Folder folder;
  std::map<std::string, Tensor> tensors;

  DecoderCopy() {
    const auto model = prompts().front().model();
    std::filesystem::copy_file(model / "config.json", folder / "config.json");
    const SafeTensors file(model / "model.safetensors");
    for (const std::string& name : file.names()) tensors.emplace(name, file.get(name).copy());
  }
  void load() {
    save_safetensors(folder / "model.safetensors", tensors);
    CpuOps ops;
    load_model(ops, folder.path());
  }
};

TEST_CASE("a checkpoint that does not fit its config is refused by the name of the tensor") {
  DecoderCopy good;
  CHECK_NOTHROW(good.load());
  CpuOps ops;
  std::filesystem::remove(good.folder / "model.safetensors");
  CHECK_THROWS_WITH_AS(load_model(ops, good.folder.path()), Contains("model.safetensors: cannot be opened"), FileError);

  for (const auto& [name, tensor] : DecoderCopy().tensors) {
    CAPTURE(name);
    DecoderCopy missing, longer, wider;
    missing.tensors.erase(name);
    CHECK_THROWS_WITH_AS(missing.load(),
                         Contains(("model.safetensors: " + name + ": wanted this tensor, found none").c_str()),
                         FileError);
    longer.tensors[name] =
        Tensor(tensor.shape().rank() == 1 ? Shape{tensor.dim(0) + 1} : Shape{tensor.dim(0) + 1, tensor.dim(1)});
    CHECK_THROWS_WITH_AS(longer.load(), Contains((name + ": wanted " + to_string(tensor.shape()) + ", found ").c_str()),
                         FileError);
    wider.tensors[name] = converted(tensor, DType::f64);
    CHECK_THROWS_WITH_AS(wider.load(), Contains((name + ": wanted f32, found f64").c_str()), FileError);
  }
  DecoderCopy turned, extra;
  Tensor& up = turned.tensors["layers.0.feed_forward.up.weight"];
  const Shape shape{up.dim(1), up.dim(0)};
  up = Tensor(shape);
  CHECK_THROWS_WITH_AS(turned.load(),
                       Contains("layers.0.feed_forward.up.weight: wanted (20, 12), found (12, 20); stored transposed?"),
                       FileError);
  extra.tensors.emplace("layers.2.attention.q.weight", Tensor({2, 2}));
  CHECK_THROWS_WITH_AS(extra.load(), Contains("a decoder of 2 layers has "), FileError);
}

TEST_SUITE_END();
