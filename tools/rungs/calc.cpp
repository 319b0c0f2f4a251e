#include "calc.hpp"

#include <cmath>

#include "rungs/base/error.hpp"
#include "rungs/base/units.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/presets.hpp"
#include "suggest.hpp"

namespace rungs {

namespace {

double parse_element_bytes(const std::string& field, const std::string& text) {
  char* end = nullptr;
  const double bytes = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(bytes > 0) || bytes > 16)
    throw UsageError(fmt::format("{}: wanted bytes of one element, such as 2 or 0.5, found \"{}\"", field, text));
  return bytes;
}

CalcShape known_shape(const std::string& model) {
  if (const std::optional<Config> named = preset(model)) return {*named, named->directory.string()};
  if (!std::filesystem::exists(model))
    throw UsageError(fmt::format("model: \"{}\" is no file or directory, and no shape among {}{}", model,
                                 fmt::join(shape_names(), ", "), did_you_mean(model, shape_names())));
  CalcShape shape{load_config(model), model};
  shape.cache_bytes = 4, shape.cache_note = ", as this library keeps it";
  const TensorSet tensors = open_weights(shape.config);
  double bytes = 0, elements = 0;
  for (const std::string& name : tensors.names())
    bytes += double(tensors.get(name).bytes()), elements += double(tensors.get(name).count());
  shape.weight_bytes = bytes / elements;
  return shape;
}

void replace(int64_t& size, const std::string& field, const std::string& text,
             int64_t (*parse)(const std::string&, const std::string&) = parse_count) {
  if (text.empty()) return;
  size = parse(field, text);
  constexpr int64_t most = int64_t(1) << 40;
  if (size > most) throw UsageError(fmt::format("{}: wanted at most 2^40, found \"{}\"", field, text));
}

}  // namespace

CalcShape shape_of(const CalcModel& model) {
  CalcShape shape = known_shape(model.model);
  Config& c = shape.config;
  const Config before = c;
  replace(c.num_layers, "layers", model.layers);
  replace(c.num_heads, "heads", model.heads);
  replace(c.num_kv_heads, "kv-heads", model.kv_heads);
  replace(c.hidden_size, "hidden-size", model.hidden_size);
  replace(c.intermediate_size, "intermediate-size", model.intermediate_size);
  replace(c.vocab_size, "vocab-size", model.vocab_size);
  if (c.num_heads != before.num_heads || c.hidden_size != before.hidden_size) {
    if (model.head_dim.empty() && c.hidden_size % c.num_heads != 0)
      throw UsageError(
          fmt::format("heads: a hidden size of {} cannot be dealt out evenly to {} heads", c.hidden_size, c.num_heads));
    c.head_dim = c.hidden_size / c.num_heads;
  }
  replace(c.head_dim, "head-dim", model.head_dim);
  if (c.num_heads % c.num_kv_heads != 0)
    throw UsageError(fmt::format("kv-heads: {} query heads cannot be dealt out evenly to {} key/value heads",
                                 c.num_heads, c.num_kv_heads));
  if (!model.weight_bytes.empty()) shape.weight_bytes = parse_element_bytes("weight-bytes", model.weight_bytes);
  if (!model.cache_bytes.empty())
    shape.cache_bytes = parse_element_bytes("cache-bytes", model.cache_bytes), shape.cache_note = "";
  const auto sizes = [](const Config& of) {
    return std::array{of.num_layers, of.num_heads,         of.num_kv_heads, of.hidden_size,
                      of.head_dim,   of.intermediate_size, of.vocab_size};
  };
  if (sizes(c) != sizes(before)) shape.name = "A model of your own";
  return shape;
}

std::string description(const Config& c) {
  return fmt::format("{} layers, {} query heads and {} key/value heads of {}, width {}, inner width {}, vocabulary {}",
                     c.num_layers, c.num_heads, c.num_kv_heads, c.head_dim, c.hidden_size, c.intermediate_size,
                     with_commas(c.vocab_size));
}

std::vector<int64_t> parse_list(const std::string& field, const std::vector<std::string>& texts,
                                int64_t (*parse)(const std::string& field, const std::string& text)) {
  std::vector<int64_t> numbers;
  for (const std::string& text : texts) numbers.push_back(parse(field, text));
  return numbers;
}

int64_t bytes_of(int64_t count, double element_bytes) {
  const double bytes = double(count) * element_bytes;
  if (bytes > 0x1p62) throw UsageError("these sizes make more than 2^62 bytes");
  return element_bytes == std::floor(element_bytes) ? count * int64_t(element_bytes) : int64_t(std::ceil(bytes));
}

void Table::print(const std::string& title) const {
  std::vector<size_t> widths;
  for (size_t column = 0; column < columns.size(); ++column) {
    widths.push_back(columns[column].size());
    for (const auto& row : rows) widths.back() = std::max(widths.back(), row[column].size());
  }
  if (!title.empty()) fmt::print("{}\n\n", title);
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t column = 0; column < cells.size(); ++column)
      text += column == 0 ? fmt::format("  {:<{}}", cells[column], widths[column])
                          : fmt::format("  {:>{}}", cells[column], widths[column]);
    fmt::print("{}\n", text);
  };
  line(columns);
  for (const auto& row : rows) line(row);
  fmt::print("\n");
}

void draw(const CalcOutput& output, const std::string& title, const std::vector<Panel>& panels) {
  if (output.plot.empty()) return;
  std::filesystem::path stem = output.plot;
  if (stem.extension() == ".png" || stem.extension() == ".svg") stem.replace_extension();
  if (!draw_pictures(stem, title, panels)) {
    fmt::print(stderr, "{}\n", gnuplot_missing);
    return;
  }
  if (output.json || output.csv) return;
  draw_in_terminal(panels);
  fmt::print("Drawn: {0}.png and {0}.svg\n", stem.string());
}

void print_csv(const nlohmann::ordered_json& rows) {
  const auto line = [](const nlohmann::ordered_json& row, bool heading) {
    std::string text;
    for (const auto& [key, value] : row.items())
      text += (text.empty() ? "" : ",") + (heading ? key : value.is_null() ? "" : value.dump());
    fmt::print("{}\n", text);
  };
  line(rows.at(0), true);
  for (const auto& row : rows) line(row, false);
}

}  // namespace rungs
