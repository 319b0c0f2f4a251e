// The lessons about the layers of a model: embeddings, norms, attention, feed-forward.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lesson_pictures.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/decoder.hpp"

namespace rungs {

namespace {

std::string layer_tap(int64_t layer, const char* name) { return fmt::format("layers.{}.{}", layer, name); }

/// The root of the mean square of each row.  rows: (T, C)
Series lengths(const std::string& name, const Tensor& rows) {
  Series s{name, {}};
  for (int64_t t = 0; t < rows.rows(); ++t) {
    double sum = 0;
    for (int64_t c = 0; c < rows.cols(); ++c) sum += rows.value(t * rows.cols() + c) * rows.value(t * rows.cols() + c);
    s.values.push_back(std::sqrt(sum / double(rows.cols())));
  }
  return s;
}

Picture before_and_after(LessonScene& scene, const std::string& title, const std::string& before,
                         const std::string& after) {
  return Bars{title, scene.text.names, {lengths("before", scene.run[before]), lengths("after", scene.run[after])}};
}

/// Some columns of a matrix.  values: (T, F)
Matrix columns_of_matrix(const std::string& title, const Tensor& values, const std::vector<std::string>& rows,
                         const std::vector<int64_t>& chosen, Shades shades) {
  Matrix m{title, rows, {}, {}};
  m.shades = shades, m.row_is = "token", m.column_is = "unit";
  for (const int64_t c : chosen) m.column_names.push_back(std::to_string(c));
  for (int64_t t = 0; t < values.rows(); ++t)
    for (const int64_t c : chosen) m.values.push_back(values.value(t * values.cols() + c));
  return m;
}

/// The units with the largest sum of |value| over the tokens, the largest first.  values: (T, F)
std::vector<int64_t> busiest(const Tensor& values, size_t most) {
  std::vector<double> sums(size_t(values.cols()), 0.0);
  for (int64_t i = 0; i < values.count(); ++i) sums[size_t(i % values.cols())] += std::fabs(values.value(i));
  std::vector<int64_t> order(sums.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return sums[size_t(a)] > sums[size_t(b)]; });
  order.resize(std::min(order.size(), most));
  return order;
}

Points in_two_dimensions(const std::string& title, const Tensor& rows, const std::vector<std::string>& names,
                         const std::vector<bool>& stands_out) {
  const Tensor at = principal_components(rows);  // (N, 2)
  Points picture{title, "first principal component", "second", {}};
  for (int64_t n = 0; n < at.dim(0); ++n)
    picture.points.push_back({names[size_t(n)], at(n, 0), at(n, 1), bool(stands_out[size_t(n)])});
  return picture;
}

}  // namespace

void show_embeddings(LessonScene& scene) {
  const DecoderCheckpoint model(weights_directory() / scene.model);
  const int64_t V = scene.config.vocab_size, C = scene.config.hidden_size;
  Tensor all({V}, DType::i32), no_position({V, C});  // (V), (V, C)
  std::iota(all.data<int32_t>(), all.data<int32_t>() + V, 0);
  std::fill_n(no_position.data(), no_position.count(), 0.0f);
  NamedTensors in;
  in["tokens"] = std::move(all), in["position_embedding"] = std::move(no_position);
  in["token_embedding"] = model.weights.token_embedding.view();
  scene.run.run("embed", "", std::move(in));

  // Words of several letters: signs and single letters are many, and say little.
  const Tensor& x = scene.run["x"];  // (V, C)
  std::vector<std::string> names;
  std::vector<bool> stands_out;
  std::vector<int64_t> chosen;
  for (int64_t id = 0; id < V; ++id) {
    const std::string name = shown_name(*scene.tokenizer, int32_t(id));
    if (name.size() < 2 || scene.tokenizer->is_special(int32_t(id))) continue;
    chosen.push_back(id), names.push_back(name);
    stands_out.push_back(std::find(scene.text.ids.begin(), scene.text.ids.end(), id) != scene.text.ids.end());
  }
  Tensor words({int64_t(chosen.size()), C});  // (words, C)
  for (size_t n = 0; n < chosen.size(); ++n)
    for (int64_t c = 0; c < C; ++c) words(int64_t(n), c) = x(chosen[n], c);
  scene.add("The words of the vocabulary in two dimensions",
            "Each word is a row of the table; near means alike. The words of the text stand out.",
            {in_two_dimensions(fmt::format("{} words of {} channels", chosen.size(), C), words, names, stands_out)});

  if (scene.text.ids.size() < 2) return;
  scene.run_model();
  if (!scene.run.has("x")) return;  // it is not written that far; a note says so
  std::vector<std::string> places;
  for (size_t t = 0; t < scene.text.names.size(); ++t) places.push_back(fmt::format("{} {}", t, scene.text.names[t]));
  scene.add("The rows of x: word and position together",
            "The number is the position. The same word lies elsewhere at another.",
            {in_two_dimensions("x, " + to_string(scene.run["x"].shape()), scene.run["x"], places,
                               std::vector<bool>(places.size(), true))});
}

void show_norms(LessonScene& scene) {
  scene.run_model();
  const int64_t L = scene.lesson.number() == 3 ? 0 : scene.config.num_layers;
  std::vector<Picture> pictures;
  for (int64_t i = 0; i < L; ++i)
    pictures.push_back(before_and_after(scene, fmt::format("layer {}, before attention", i),
                                        i == 0 ? "x" : layer_tap(i - 1, "x"), layer_tap(i, "attention_normed")));
  pictures.push_back(before_and_after(scene, "the final norm", L == 0 ? "x" : layer_tap(L - 1, "x"), "normed"));
  scene.add("The size of each row", "The root of the mean square of its channels, before the norm and after.",
            pictures);

  const std::string before = L == 0 ? "x" : layer_tap(L - 1, "x");
  const std::vector<int64_t> channels = busiest(scene.run[before], 40);
  Matrix a = columns_of_matrix("before the final norm", scene.run[before], scene.text.names, channels, Shades::sign);
  Matrix b = columns_of_matrix("after it", scene.run["normed"], scene.text.names, channels, Shades::sign);
  a.column_is = b.column_is = "channel";
  a.most = b.most = std::max(scale_of(a), scale_of(b));
  scene.add("The rows themselves", "The 40 channels that are largest before the norm; both on one scale.", {a, b});
}

void show_units(LessonScene& scene) {
  scene.run_model();
  for (int64_t i = 0; i < scene.config.num_layers; ++i) {
    const Tensor& hidden = scene.run[layer_tap(i, "hidden")];  // (T, F)
    Series fire{"", {}};
    for (int64_t t = 0; t < hidden.rows(); ++t) {
      int64_t count = 0;
      for (int64_t f = 0; f < hidden.cols(); ++f) count += hidden(t, f) > 0;
      fire.values.push_back(double(count));
    }
    const std::vector<int64_t> units = busiest(hidden, 64);
    scene.add(fmt::format("Layer {}: which of its {} units fire", i, hidden.cols()),
              "A dot is a unit that ReLU has made 0. The 64 units with the largest sums, the largest first.",
              {columns_of_matrix("hidden", hidden, scene.text.names, units, Shades::amount),
               Bars{fmt::format("units above 0, of {}", hidden.cols()), scene.text.names, {fire}}});
  }
}

void show_attention(LessonScene& scene) {
  scene.run_model();
  const int64_t L = scene.config.num_layers;
  for (int64_t i = 0; i < L; ++i) {
    if (i > 0 && !scene.run.has(layer_tap(i, "weights"))) break;  // it ended before; a note says why
    scene.add(
        fmt::format("Layer {}: attention weights", i),
        i == 0 ? "Each row is a token that reads; the columns are the tokens that it reads. A row sums to 1." : "",
        attention_pictures(scene.run[layer_tap(i, "weights")], scene.text.names, scene.config.num_kv_heads));
  }
}

void show_gates(LessonScene& scene) {
  scene.run_model();
  for (int64_t i = 0; i < scene.config.num_layers; ++i) {
    const Tensor& hidden = scene.run[layer_tap(i, "hidden")];  // (T, F)
    const std::vector<int64_t> units = busiest(hidden, 32);
    std::vector<Picture> pictures;
    for (const char* name : {"gate", "up", "hidden"})
      pictures.emplace_back(
          columns_of_matrix(name, scene.run[layer_tap(i, name)], scene.text.names, units, Shades::sign));
    double most = 0;
    for (const Picture& p : pictures) most = std::max(most, scale_of(std::get<Matrix>(p)));
    for (Picture& p : pictures) std::get<Matrix>(p).most = most;
    scene.add(fmt::format("Layer {}: gate, up, and hidden = silu(gate) ∘ up", i),
              "The 32 units whose hidden is largest, on one scale. Where the gate is far below 0, hidden is nearly 0 "
              "whatever up says.",
              pictures);
  }
}

}  // namespace rungs
