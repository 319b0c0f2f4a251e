/// LLaMA beside the saved answers of transformers, on whatever device.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "rungs/base/file.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/grader/case.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/tensor/tap.hpp"
#include "support.hpp"

namespace rungs::test {

using Ids = std::vector<int32_t>;

/// How much of the cases to go through: everything costs more on a device that stands in for a GPU.
struct Effort {
  bool large = true;     ///< cases of the trained model too
  bool uncached = true;  ///< texts without the cache too
  int64_t stride = 1;    ///< a prompt is split at every so manieth place
};

/// Every case of lesson 15 that runs `run`.
inline const std::vector<const Case*>& cases(std::string_view run) {
  static const std::vector<Case> all = load_cases(weights_directory() / "references/15_llama");
  static const std::map<std::string, std::vector<const Case*>, std::less<>> by_run = [] {
    std::map<std::string, std::vector<const Case*>, std::less<>> map;
    for (const Case& c : all) map[c.input.run].push_back(&c);
    return map;
  }();
  const auto found = by_run.find(run);
  REQUIRE(found != by_run.end());
  return found->second;
}

inline std::vector<const Case*> cases(const std::string& run, const Effort& effort) {
  std::vector<const Case*> list = cases(run);
  std::erase_if(list, [&](const Case* c) { return !effort.large && c->input.model == "stories"; });
  return list;
}

inline Ids ids(const Tensor& tensor) { return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.count()}; }

/// The model of a case on a device, opened once.
inline Model& model_of(const Case& c, const Backend& backend) {
  static std::map<std::pair<std::string, const Device*>, std::unique_ptr<Model>> open;
  std::unique_ptr<Model>& model = open[{c.input.model, &backend.device}];
  if (!model) model = load_model(backend, weights_directory() / c.input.model, {600});  // rows: more than any case has
  return *model;
}

/// A copy on the host.
inline Tensor on_host(Device& device, const Tensor& tensor) {
  Tensor host(tensor.shape(), tensor.dtype());
  device.download(host.raw(), tensor);
  return host;
}

/// "" when rows of NAME, the first of them row `first` of the reference, are within the tolerance.
inline std::string wrong(const Case& c, const std::string& name, const Tensor& got, int64_t first = 0) {
  const Reference& want = *c.find(name);
  const Comparison r = compare(got, want.value.view_rows(first, got.dim(0)), want.tolerance());
  if (passes(r)) return "";
  return fmt::format("{}, {} at {}: {}{} times the tolerance", c.input.name, name, first, r.shape_problem, r.fraction);
}

/// Rows [begin, end) of a case as one call.
inline Batch rows_of(const Case& c, int64_t begin, int64_t end) {
  Batch batch;
  for (int64_t n = begin; n < end; ++n) {
    batch.token.push_back(c.input["tokens"].at<int32_t>(n));
    batch.sequence.push_back(c.input["sequence"].at<int32_t>(n));
    batch.position.push_back(c.input["position"].at<int32_t>(n));
    batch.logit_rows.push_back(int32_t(n - begin));
  }
  return batch;
}

inline Tensor logits_of(Model& model, const Batch& batch, KvCache* cache) {
  Tensor logits = model.backend().device.allocate({int64_t(batch.logit_rows.size()), model.config().vocab_size});
  model.forward(logits, batch, cache);
  return on_host(model.backend().device, logits);
}

/// How many rows each call of a case has.
inline Ids calls_of(const Case& c) {
  if (c.input.in.count("calls")) return ids(c.input["calls"]);
  return {int32_t(c.input["tokens"].count())};
}

/// The caches that a case gives, or empty ones.
inline KvCache cache_of(const Case& c, Model& model) {
  const Ids sequence = ids(c.input["sequence"]);
  const bool given = c.input.in.count("layers.0.k");
  const int64_t sequences =
      given ? c.input["layers.0.k"].dim(0) : *std::max_element(sequence.begin(), sequence.end()) + 1;
  KvCache cache(model.backend().device, model.config(), sequences,
                given ? c.input["layers.0.k"].dim(1) : int64_t(c.input.scalar("capacity")));
  for (size_t i = 0; given && i < cache.layers.size(); ++i) {
    model.backend().device.upload(cache.layers[i].k, c.input[fmt::format("layers.{}.k", i)].raw());
    model.backend().device.upload(cache.layers[i].v, c.input[fmt::format("layers.{}.v", i)].raw());
  }
  return cache;
}

/// Calls of many shapes, with caches given and grown.
inline void check_logits_and_caches(const Backend& backend, const Effort& effort) {
  for (const Case* c : cases("llama_forward", effort)) {
    Model& model = model_of(*c, backend);
    KvCache cache = cache_of(*c, model);
    if (!c->error.empty()) {
      CHECK_THROWS_AS(logits_of(model, rows_of(*c, 0, c->input["tokens"].count()), &cache), UsageError);
      continue;
    }
    int64_t row = 0;
    for (const int32_t n : calls_of(*c)) {
      CHECK(wrong(*c, "logits", logits_of(model, rows_of(*c, row, row + n), &cache), row) == "");
      row += n;
    }
    for (size_t i = 0; c->input.in.count("layers.0.k") && i < cache.layers.size(); ++i) {
      CHECK(wrong(*c, fmt::format("layers.{}.k", i), on_host(backend.device, cache.layers[i].k)) == "");
      CHECK(wrong(*c, fmt::format("layers.{}.v", i), on_host(backend.device, cache.layers[i].v)) == "");
    }
  }
}

/// All at once, without a cache.
inline void check_taps(const Backend& backend, const Effort& effort) {
  std::set<std::string> compared;
  for (const Case* c : cases("llama_forward", effort)) {
    const bool rows_together =
        c->input.name.find("interleaved") == std::string::npos;  // as they must be without a cache
    if (!c->error.empty() || c->input.in.count("calls") || c->input.in.count("layers.0.k") || !rows_together) continue;
    Model& model = model_of(*c, backend);
    watch_taps([&](const std::string& name, const Tensor& tensor) {
      if (!c->find(name)) return;
      CHECK(wrong(*c, name, on_host(backend.device, tensor)) == "");
      compared.insert(name);
    });
    const Tensor logits = logits_of(model, rows_of(*c, 0, c->input["tokens"].count()), nullptr);
    watch_taps({});
    CHECK(wrong(*c, "logits", logits) == "");
  }
  for (const char* name : {"x", "layers.0.x", "layers.1.x", "normed"}) CHECK(compared.count(name) == 1);
}

/// A prompt in two pieces at every place or some, and in chunks.
inline void check_splits(const Backend& backend, const Effort& effort) {
  for (const Case* c : cases("prompt", effort)) {
    Model& model = model_of(*c, backend);
    const Ids tokens = ids(c->input["tokens"]);
    const auto T = int64_t(tokens.size());
    KvCache cache(model.backend().device, model.config(), 1, T);  // stays dirty from split to split
    const auto feed = [&](int64_t begin, int64_t end) {
      Batch batch;
      batch.add(0, std::span(tokens).subspan(size_t(begin), size_t(end - begin)), begin, false);
      CHECK(wrong(*c, "logits", logits_of(model, batch, &cache), begin) == "");
    };
    for (int64_t split = 1; split < T; split += effort.stride) feed(0, split), feed(split, T);
    for (const int64_t chunk : {1, 2, 3})
      for (int64_t begin = 0; begin < T; begin += chunk) feed(begin, std::min(begin + chunk, T));
  }
}

/// With the cache and without.
inline void check_generation(const Backend& backend, const Effort& effort) {
  for (const Case* c : cases("generate", effort)) {
    const Ids tokens = ids(c->input["tokens"]);
    std::vector<Ids> prompts;
    auto begin = tokens.begin();
    for (const int32_t length : ids(c->input["lengths"])) prompts.emplace_back(begin, begin + length), begin += length;
    const auto B = int64_t(prompts.size());

    GenerateOptions options;
    options.max_tokens = int64_t(c->input.scalar("max_tokens"));
    options.stop = ids(c->input["eos"]);
    options.sampling = {c->input.scalar("temperature"), int64_t(c->input.scalar("top_k")), c->input.scalar("top_p")};
    for (const bool cache : {true, false}) {
      if (!cache && !effort.uncached) continue;
      options.cache = cache;
      std::vector<int64_t> drawn(prompts.size(), 0);  // by each sequence
      std::vector<bool> ended(prompts.size(), false);
      int64_t turn = 0;  // sequences that go on draw one after the other
      if (options.sampling.temperature > 0)
        options.pick = [&](std::span<const float> logits, const SampleOptions& sampling, double) {
          std::vector<float> p(logits.size());
          Ids order;
          probabilities(p, logits, sampling, order);
          const Tensor& draws = c->input["draws"];  // (B, max_tokens)
          while (ended[size_t(turn % B)]) ++turn;
          const int64_t b = turn++ % B;
          return sample(p, draws.value(b * draws.dim(1) + drawn[size_t(b)]++));
        };
      Ids made, counts;
      const auto texts = generate(model_of(*c, backend), prompts, options,
                                  [&](const Step& step) { ended[size_t(step.sequence)] = options.ends(step.token); });
      for (const Ids& one : texts) {
        made.insert(made.end(), one.begin(), one.end());
        counts.push_back(int32_t(one.size()));
      }
      CAPTURE(c->input.name);
      CHECK(made == ids(c->find("tokens")->value));
      CHECK(counts == ids(c->find("counts")->value));
    }
  }
}

/// With the cache and without.
inline void check_last_position(const Backend& backend, const Effort& effort) {
  for (const Case* c : cases("logits", effort)) {
    Model& model = model_of(*c, backend);
    const Ids tokens = ids(c->input["tokens"]);
    Batch batch;
    batch.add(0, tokens, 0, false);
    batch.logit_rows.erase(batch.logit_rows.begin(), batch.logit_rows.begin() + int64_t(c->input.scalar("from")));
    KvCache cache(model.backend().device, model.config(), 1, int64_t(tokens.size()));
    for (KvCache* with : {&cache, static_cast<KvCache*>(nullptr)})
      if (with || effort.uncached) CHECK(wrong(*c, "logits", logits_of(model, batch, with)) == "");
  }
}

}  // namespace rungs::test
