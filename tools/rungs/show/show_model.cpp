// rungs show --model: every head's weights, what each layer would predict, and the cache.
#include <fmt/format.h>

#include <algorithm>

#include "../engine.hpp"
#include "../prompts.hpp"
#include "../workspace.hpp"
#include "rungs/base/text.hpp"
#include "rungs/base/units.hpp"
#include "rungs/model/decoder.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/memory_estimate.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/tap.hpp"
#include "show.hpp"

namespace rungs {

namespace {

using Taps = std::map<std::string, Tensor>;

std::string of_layer(int64_t layer, const char* name) { return fmt::format("layers.{}.{}", layer, name); }

bool is_hybrid(const Config& c) { return !c.is_llama() && (c.num_heads > 1 || c.rotary || c.rms_norm || c.gated); }

/// The lesson whose code runs a model between the decoder and LLaMA.
int lesson_of(const Config& c) {
  return c.gated ? 13 : c.rms_norm ? 12 : c.rotary ? 11 : c.num_kv_heads < c.num_heads ? 10 : 9;
}

/// The taps of one call with all tokens, of the engine on the CPU.
Taps run_engine(const ShowCommand& command, const std::vector<int32_t>& ids) {
  const auto T = int64_t(ids.size());
  const Backend backend = backend_of({});
  const std::unique_ptr<Model> model = load_model(backend, command.model, {.max_rows = T});
  Batch batch;
  batch.add(0, ids, 0, false);
  Tensor logits({T, model->config().vocab_size});
  Taps taps;
  watch_taps([&](const std::string& name, const Tensor& value) { taps[name] = value.copy(); });
  model->forward(logits, batch, nullptr);
  watch_taps({});
  for (int64_t i = 0; i < model->config().num_layers; ++i) {
    Tensor &q = taps[of_layer(i, "q")], &k = taps[of_layer(i, "k")];
    taps[of_layer(i, "weights")] = attention_weights(q, k);
  }
  return taps;
}

/// The same, of the solution of a lesson.
Taps run_solution(const ShowCommand& command, const std::vector<int32_t>& ids, Lesson& lesson) {
  LessonRun run(built_candidate(lesson, false, !command.fragment));
  const int32_t all[] = {int32_t(ids.size())};
  NamedTensors in;
  in["tokens"] = Tensor::view_of(ids.data(), {int64_t(ids.size())}, DType::i32);
  in["split"] = Tensor::view_of(all, {1}, DType::i32);
  run.run("prompt", std::filesystem::canonical(command.model).string(), std::move(in));
  if (const std::string why = run.why_it_ended(); !why.empty()) throw Error(why);
  Taps taps;
  for (const Recorded& piece : run.outcome().recording.pieces) taps[piece.name] = piece.value.copy();
  return taps;
}

/// What turns a row of the stream into logits.
struct Head {
  NormWeights norm;
  LinearWeights output;
  float epsilon;
  bool rms;
};

/// The most probable token after each row of a stream, with its probability.  x: (T, C)
void predict(Matrix& lens, const Tensor& x, const Head& head, const Tokenizer& tokenizer) {
  CpuOps ops;
  Tensor normed(x.shape()), logits({x.dim(0), head.output.weight.dim(0)});  // (T, C), (T, V)
  if (head.rms)
    ops.rms_norm(normed, x, head.norm.weight, head.epsilon);
  else
    ops.layer_norm(normed, x, head.norm.weight, head.norm.bias, head.epsilon);
  ops.linear(logits, normed, head.output.weight, head.output.bias);
  std::vector<float> p(size_t(logits.cols()));
  std::vector<int32_t> order;
  for (int64_t t = 0; t < x.dim(0); ++t) {
    probabilities(p, {&logits(t, 0), p.size()}, {.temperature = 1}, order);
    const auto best = std::max_element(p.begin(), p.end());
    lens.values.push_back(*best);
    lens.texts.push_back(shown_name(tokenizer, int32_t(best - p.begin())));
  }
}

Section lens_of(const Taps& taps, const Head& head, const Config& config, const Tokenizer& tokenizer,
                const ShownText& text) {
  Matrix by_layer;  // (layers + 1, T) while it is filled
  std::vector<std::string> columns = {"embedding"};
  predict(by_layer, taps.at("x"), head, tokenizer);
  for (int64_t i = 0; i < config.num_layers; ++i) {
    predict(by_layer, taps.at(of_layer(i, "x")), head, tokenizer);
    columns.push_back(fmt::format("layer {}", i));
  }
  Matrix m{"the most probable next token, shaded by its probability", text.names, columns, {}};
  const size_t T = text.names.size();
  for (size_t t = 0; t < T; ++t)
    for (size_t c = 0; c < columns.size(); ++c) {
      m.values.push_back(by_layer.values[c * T + t]);
      m.texts.push_back(by_layer.texts[c * T + t]);
    }
  m.most = 1, m.row_is = "after", m.column_is = "by";
  return {"What each layer's stream would predict (logit lens)",
          "The final norm and the output projection, applied to the residual stream after each layer. The last column "
          "is what "
          "the model says.",
          {m}};
}

Section cache_of(const Config& config, const ShownText& text) {
  const int64_t token = cache_elements(config, 1), T = int64_t(text.ids.size());
  Lines growth{"the KV cache of one sequence", "tokens", "MiB", {}};
  for (const DType dtype : {DType::f32, DType::bf16, DType::q8_0}) {
    if (config.head_dim % elements_of_block(dtype) != 0) continue;
    const auto bytes = [&](int64_t tokens) {
      return double(bytes_of(dtype, cache_elements(config, tokens))) / double(1 << 20);
    };
    growth.lines.push_back(
        {std::string(name_of(dtype)), {0, double(config.max_seq_len)}, {0, bytes(config.max_seq_len)}});
  }
  const auto in_f32 = [&](int64_t tokens) { return in_units(int64_t(bytes_of(DType::f32, token * tokens))); };
  return {"How the KV cache grows",
          fmt::format(
              "Each token adds a key and a value of {} numbers in {} layers: {} in f32. These {} tokens take {}, the "
              "whole context of {} takes {}.",
              config.num_kv_heads * config.head_dim, config.num_layers, in_f32(1), T, in_f32(T),
              with_commas(config.max_seq_len), in_f32(config.max_seq_len)),
          {growth}};
}

Section tokens_of(const ShownText& text) {
  std::string tokens;
  for (size_t t = 0; t < text.ids.size(); ++t)
    tokens += fmt::format("{}{} ({})", t ? ", " : "", text.names[t], text.ids[t]);
  return {"Tokens", tokens + ".", {}};
}

/// The logit lens, with the weights of the model's file.
Section lens_section(const ShowCommand& command, const Taps& taps, const Config& config, const Tokenizer& tokenizer,
                     const ShownText& text) {
  if (config.is_llama()) {
    const LlamaCheckpoint model(command.model);
    const LlamaWeights& w = model.weights;
    return lens_of(taps, {{w.final_norm.view(), {}}, {w.output.view(), {}}, w.epsilon, true}, config, tokenizer, text);
  }
  const DecoderCheckpoint model(command.model);
  const DecoderWeights& w = model.weights;
  const Head head{{w.final_norm.weight.view(), w.final_norm.bias.view()},
                  {w.output.weight.view(), w.output.bias.view()},
                  w.epsilon,
                  config.rms_norm};
  return lens_of(taps, head, config, tokenizer, text);
}

}  // namespace

Drawing draw_model(const ShowCommand& command) {
  const Config config = load_config(command.model);
  const std::filesystem::path path = tokenizer_path(command.model, command.tokenizer);
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(path);
  check_vocabulary(*tokenizer, path, config);
  const ShownText text = shown_text(*tokenizer, config, command.text.value_or(usual_text));

  Drawing d;
  d.title = fmt::format("{}: {} layers, {} head{}", short_path(command.model), config.num_layers, config.num_heads,
                        config.num_heads == 1 ? "" : "s");
  Taps taps;
  if (is_hybrid(config)) {
    Lesson lesson = lesson_called(std::to_string(lesson_of(config)));
    taps = run_solution(command, text.ids, lesson);
    d.drawn_from = "the solution of " + lesson.name + ", which runs this model";
  } else {
    taps = run_engine(command, text.ids);
    d.drawn_from = "the engine on the CPU";
  }
  if (!text.left_out.empty()) d.notes.push_back(text.left_out);
  d.sections.push_back(tokens_of(text));
  for (int64_t i = 0; i < config.num_layers; ++i)
    d.sections.push_back({fmt::format("Layer {}: attention weights", i),
                          i == 0 ? "Each row is a token that reads; the columns are the tokens that it reads." : "",
                          attention_pictures(taps.at(of_layer(i, "weights")), text.names, config.num_kv_heads)});
  d.sections.push_back(lens_section(command, taps, config, *tokenizer, text));
  d.sections.push_back(cache_of(config, text));
  return d;
}

}  // namespace rungs
