// The lessons about one piece: rotary positions, byte-pair merges, fragments of tensor cores.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lesson_pictures.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"
#include "rungs/tokenizer/bpe_tables.hpp"
#include "rungs/tokenizer/utf8.hpp"

namespace rungs {

namespace {

constexpr int64_t rope_context = 192, rope_head = 16;  // positions, D

/// x of ones in the first half of each head, turned by the lesson's code.  Returns (T, 1, D).
Tensor rotated(LessonScene& scene, const Tensor& x, const Tensor& cos, const Tensor& sin, int64_t start) {
  NamedTensors in;
  in["x"] = x.view(), in["cos"] = cos.view(), in["sin"] = sin.view(), in["start_pos"] = scalar_of(double(start));
  scene.run.run("apply_rope", "", std::move(in));
  return scene.run["x"].copy();
}

/// T equal rows.  Returns (T, 1, D).
Tensor equal_rows(int64_t T, float first_half, float second_half) {
  Tensor x({T, 1, rope_head});
  for (int64_t i = 0; i < x.count(); ++i) x.flat(i) = i % rope_head < rope_head / 2 ? first_half : second_half;
  return x;
}

/// q · k of a query d tokens behind a key at `start`, for d from 0.
Line scores_from(LessonScene& scene, const Tensor& cos, const Tensor& sin, int64_t start) {
  constexpr int64_t T = 64;
  const Tensor ones = equal_rows(T, 1, 1), q = rotated(scene, ones, cos, sin, start);  // (T, 1, D)
  Line line{fmt::format("key at {}", start), {}, {}};
  for (int64_t d = 0; d < T; ++d) {
    double sum = 0;
    for (int64_t i = 0; i < rope_head; ++i) sum += double(q(d, 0, i)) * q(0, 0, i);
    line.x.push_back(double(d)), line.y.push_back(sum);
  }
  return line;
}

/// The bytes of a token, in hexadecimal where they are no text; a space can be seen.
std::string bytes_shown(const std::string& bytes) {
  std::string text;
  for (const char c : bytes)
    text += !is_utf8(bytes) ? fmt::format("\\x{:02x}", uint8_t(c))
            : c == '\n'     ? "\\n"
            : c == ' '      ? "␣"
                            : std::string(1, c);
  return printable(text);
}

Node node_of(const BpeTables& bpe, int32_t id) {
  const bool known = id >= 0 && size_t(id) < bpe.tokens.size();
  return {known ? bytes_shown(bpe.tokens[size_t(id)]) : fmt::format("id {}?", id)};
}

std::vector<int32_t> ids_of(const Tensor& t) { return {t.data<int32_t>(), t.data<int32_t>() + t.count()}; }

/// The trees of one piece: its bytes are the leaves, what stands at the end are the roots.
std::vector<Node> merged(LessonScene& scene, const BpeTables& bpe, const std::string& bpe_model,
                         std::string_view piece) {
  Tensor bytes({int64_t(piece.size())}, DType::i32);
  for (size_t i = 0; i < piece.size(); ++i) bytes.at<int32_t>(i) = uint8_t(piece[i]);
  NamedTensors in;
  in["piece"] = std::move(bytes);
  scene.run.run("merge", bpe_model, std::move(in));
  std::vector<int32_t> ids = ids_of(scene.run["bytes"]);
  std::vector<Node> nodes;
  for (const int32_t id : ids) nodes.push_back(node_of(bpe, id));
  for (int round = 1; scene.run.has(fmt::format("merge_{}", round)); ++round) {
    const std::vector<int32_t> now = ids_of(scene.run[fmt::format("merge_{}", round)]);
    if (now.empty() || now.size() + 1 != ids.size())
      throw UsageError(fmt::format("merge {} of \"{}\": {} tokens became {}; a merge joins two", round,
                                   std::string(piece), ids.size(), now.size()));
    const size_t at = size_t(std::mismatch(now.begin(), now.end(), ids.begin()).first - now.begin());
    Node parent = node_of(bpe, now[std::min(at, now.size() - 1)]);
    parent.note = std::to_string(round);
    const size_t left = std::min(at, nodes.size() - 2);
    parent.children = {nodes[left], nodes[left + 1]};
    nodes[left] = std::move(parent);
    nodes.erase(nodes.begin() + int64_t(left) + 1);
    ids = now;
  }
  return nodes;
}

std::vector<std::string> numbered(int64_t n) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < n; ++i) names.push_back(std::to_string(i));
  return names;
}

/// Which lane holds each element, and in which register.
template <class LaneOf, class RegisterOf>
Matrix lanes(const std::string& title, int64_t rows, int64_t columns, LaneOf lane, RegisterOf reg) {
  Matrix m{title, numbered(rows), numbered(columns), {}};
  m.shades = Shades::kind, m.row_is = "row", m.column_is = "column";
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      m.values.push_back(double(lane(r, c)));
      m.texts.push_back(fmt::format("{}.{}", lane(r, c), reg(r, c)));
    }
  return m;
}

}  // namespace

void show_rotations(LessonScene& scene) {
  NamedTensors in;
  in["context"] = scalar_of(rope_context), in["head_dim"] = scalar_of(rope_head), in["theta"] = scalar_of(10000);
  scene.run.run("rope_table", "", std::move(in));
  const Tensor cos = scene.run["cos"].copy(), sin = scene.run["sin"].copy();  // (context, D/2)
  const Tensor x = rotated(scene, equal_rows(64, 1, 0), cos, sin, 0);         // (T, 1, D): each pair began as (1, 0)

  Lines turning{"the first number of pairs that were (1, 0)", "position", "", {}};
  for (int64_t i = 0; i < rope_head / 2; i += 2) {
    Line line{fmt::format("pair {}", i), {}, {}};
    for (int64_t t = 0; t < x.dim(0); ++t) line.x.push_back(double(t)), line.y.push_back(x(t, 0, i));
    turning.lines.push_back(std::move(line));
  }
  Points circle{"pairs 0 and 2 at the first positions", "first number", "second number", {}};
  for (const int64_t i : {0, 2})
    for (int64_t t = 0; t < 7; ++t)
      circle.points.push_back(
          {fmt::format("{}{}", i == 0 ? "" : "slow ", t), x(t, 0, i), x(t, 0, i + rope_head / 2), i == 0});
  scene.add(
      "Pairs that turn",
      fmt::format("A head of {} numbers has {} pairs. The first turns by one radian a position, each next one slower.",
                  rope_head, rope_head / 2),
      {turning, circle});

  Lines scores{"q · k by distance",
               "tokens between query and key",
               "score",
               {scores_from(scene, cos, sin, 0), scores_from(scene, cos, sin, 100)}};
  double apart = 0;
  for (size_t d = 0; d < scores.lines[0].y.size(); ++d)
    apart = std::max(apart, std::fabs(scores.lines[0].y[d] - scores.lines[1].y[d]));
  scene.add("Score against distance",
            fmt::format("Query and key are all ones, turned to their positions. Wherever the key is, the score is the "
                        "same: the two curves differ by {:.1g} at most.",
                        apart),
            {scores});
}

void show_merges(LessonScene& scene) {
  const std::string bpe_model = "references/models/bpe_small";
  const BpeTables bpe = load_bpe_tables(weights_directory() / bpe_model / "tokenizer.json");
  const std::string text = scene.command.text.value_or("She took the idées");
  if (text.empty()) throw UsageError("the text to show is empty");
  if (!is_utf8(text)) throw UsageError("the text to show is not UTF-8");
  constexpr size_t most = 32;
  const std::vector<std::string_view> pieces = bpe.split(text);
  for (size_t i = 0; i < std::min(pieces.size(), most); ++i)
    scene.add(
        "\"" + printable(pieces[i]) + "\"",
        i == 0 ? "Bytes are the leaves; a number says which merge made a token. What is left at the top are the tokens."
               : "",
        {Tree{"", merged(scene, bpe, bpe_model, pieces[i])}});
  if (pieces.size() > most)
    scene.drawing.notes.push_back(fmt::format("The text has {} pieces; the first {} are drawn.", pieces.size(), most));
}

void show_fragments(LessonScene& scene) {
  scene.drawing.drawn_from = "the layout of mma.m16n8k16: the instruction says who holds what, and no code ran";
  const auto by_row = [](int64_t r, int64_t k) { return r % 8 * 4 + k % 8 / 2; };
  const auto sums = [](int64_t m, int64_t n) { return m % 8 * 4 + n / 2; };
  scene.add(
      "Fragments, by lane",
      "Each cell says lane.register. A register of a and of b holds two neighbours of bf16, one of c a sum.",
      {lanes("a, (16, 16)", 16, 16, by_row, [](int64_t r, int64_t k) { return r / 8 + k / 8 * 2; }),
       lanes("b, (8, 16): a row is a column of the product", 8, 16, by_row, [](int64_t, int64_t k) { return k / 8; }),
       lanes("c, (16, 8)", 16, 8, sums, [](int64_t m, int64_t n) { return m / 8 * 2 + n % 2; })});
}

}  // namespace rungs
