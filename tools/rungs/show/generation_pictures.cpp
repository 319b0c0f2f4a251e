// The lessons that make text: the next token, and the work of the cache.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "../engine.hpp"
#include "../workspace.hpp"
#include "lesson_pictures.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/units.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/model/memory_estimate.hpp"

namespace rungs {

namespace {

void add_options(NamedTensors& in, const SampleOptions& options) {
  in["temperature"] = scalar_of(options.temperature);
  in["top_k"] = scalar_of(double(options.top_k));
  in["top_p"] = scalar_of(options.top_p);
}

/// Continues the text by up to n tokens, always the most probable.
void run_generate_on(LessonRun& run, const LessonScene& scene, int64_t n) {
  NamedTensors in;
  Tensor draws({n}, DType::f64);
  std::fill_n(draws.data<double>(), n, 0.0);
  in["prompt"] = scene.tokens();
  in["draws"] = std::move(draws), in["max_tokens"] = scalar_of(double(n));
  add_options(in, {.temperature = 0});
  run.run("generate", scene.model, std::move(in));
}

/// One way to draw, and what a picture calls it.
struct Setting {
  const char* name;
  SampleOptions options;
};

Bars next_token(LessonScene& scene, const std::string& title, const Tensor& logits, const std::vector<int64_t>& ids,
                const std::vector<Setting>& settings) {
  Bars bars{title, {}, {}};
  for (const int64_t id : ids) bars.names.push_back(shown_name(*scene.tokenizer, int32_t(id)));
  for (const Setting& setting : settings) {
    NamedTensors in;
    in["logits"] = logits.view();
    add_options(in, setting.options);
    scene.run.run("probabilities", "", std::move(in));
    Series series{setting.name, {}};
    for (const int64_t id : ids) series.values.push_back(scene.run["probabilities"].value(id));
    bars.series.push_back(std::move(series));
  }
  return bars;
}

/// Rows that went through a weight matrix, by the number of tokens made.
Line rows_by_tokens(const std::string& name, LessonRun& run, const LessonScene& scene) {
  Line line{name, {}, {}};
  for (const int64_t n : {1, 4, 8, 16, 24, 32, 48, 64}) {
    run_generate_on(run, scene, n);
    const auto made = double(run["tokens"].count());
    if (!line.x.empty() && made <= line.x.back()) break;  // the text has ended
    line.x.push_back(made), line.y.push_back(double(run.outcome().recording.linear_rows));
  }
  return line;
}

/// What the library's decoder says after the text: so the lesson's `probabilities` can be drawn before its `generate`
/// is written.  Returns (V).
Tensor last_logits(const LessonScene& scene) {
  const std::unique_ptr<Model> model = load_model(backend_of({}), weights_directory() / scene.model);
  Batch batch;
  batch.add(0, scene.text.ids, 0, true);
  Tensor logits({1, scene.config.vocab_size});  // (1, V)
  model->forward(logits, batch, nullptr);
  return logits[0].copy();
}

/// Milliseconds that the library's decoder takes, by the number of tokens made.
Line time_by_tokens(const std::string& name, Model& model, const LessonScene& scene, bool cache) {
  Line line{name, {}, {}};
  for (const int64_t n : {1, 16, 32, 64, 96, 128}) {
    const double start = now();
    generate(model, {scene.text.ids}, {.sampling = {.temperature = 0}, .max_tokens = n, .cache = cache});
    line.x.push_back(double(n)), line.y.push_back(1e3 * (now() - start));
  }
  return line;
}

}  // namespace

void show_sampling(LessonScene& scene) {
  const Tensor logits = last_logits(scene);  // (V)
  std::vector<int64_t> ids(size_t(logits.count()));
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int64_t a, int64_t b) { return logits(a) > logits(b); });
  ids.resize(8);
  scene.add(fmt::format("What may follow \"{}\"", scene.text.names.back()),
            "The 8 tokens with the largest logits, by probability.",
            {next_token(scene, "temperature", logits, ids, {{"0.5", {0.5}}, {"1", {1}}, {"2", {2}}}),
             next_token(scene, "top-k", logits, ids, {{"all", {1}}, {"k 5", {1, 5}}, {"k 2", {1, 2}}}),
             next_token(scene, "top-p", logits, ids, {{"all", {1}}, {"p 0.9", {1, 0, 0.9}}, {"p 0.5", {1, 0, 0.5}}})});
}

void show_cache(LessonScene& scene) {
  Lesson before = lesson_called("7");
  LessonRun without(built_candidate(before, false, !scene.command.fragment));
  Lines work{
      "rows multiplied by a weight matrix",
      "tokens made",
      "rows",
      {rows_by_tokens("with the cache", scene.run, scene), rows_by_tokens("without (lesson 7)", without, scene)}};
  scene.add("Work", fmt::format("After a prompt of {} tokens.", scene.text.ids.size()), {work});

  if (!scene.command.fragment) {  // a page quotes no time that was measured while it was made
    const std::unique_ptr<Model> model = load_model(backend_of({}), weights_directory() / scene.model);
    scene.add("Time", "Measured now, on this machine, with the library's decoder.",
              {Lines{"time to make them",
                     "tokens made",
                     "ms",
                     {time_by_tokens("with the cache", *model, scene, true),
                      time_by_tokens("without", *model, scene, false)}}});
  }
  const int64_t token = cache_elements(scene.config, 1) * 4;
  scene.add("Memory",
            fmt::format("The cache takes {} a token, {} for the whole context of {}.", in_units(token),
                        in_units(token * scene.config.max_seq_len), with_commas(scene.config.max_seq_len)),
            {});
}

}  // namespace rungs
