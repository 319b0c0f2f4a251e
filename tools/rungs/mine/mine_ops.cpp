#include "mine_ops.hpp"

#include <algorithm>

#include "01_tensor/lesson.hpp"
#include "02_embedding/lesson.hpp"
#include "03_layer_norm/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "08_kv_cache/lesson.hpp"
#include "10_grouped_query/lesson.hpp"
#include "11_rope/lesson.hpp"
#include "12_rms_norm/lesson.hpp"
#include "13_swiglu/lesson.hpp"
#include "my_lessons.hpp"

namespace rungs {

static Tensor zeros(const Shape& shape) {
  Tensor tensor(shape);
  std::fill_n(tensor.data(), tensor.count(), 0.0f);
  return tensor;
}

/// Lessons know float32 alone: what is stored in 16 bits is converted once.
const Tensor& MineOps::wide(const Tensor& weight) {
  if (weight.dtype() == DType::f32) return weight;
  const auto it = wide_.find(weight.raw());
  return it != wide_.end() ? it->second : wide_.emplace(weight.raw(), converted(weight, DType::f32)).first->second;
}

// What lesson 1 calls a bias is zero in LLaMA.
void MineOps::linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!passed(1)) return cpu_.linear(out, x, weight, bias);
  Tensor rows = out.reshaped({out.rows(), out.cols()});
  lesson_01::linear(rows, x.reshaped({x.rows(), x.cols()}), wide(weight),
                    bias ? bias.view() : ConstTensor(zeros({weight.dim(0)})));
}

// Rows of a table are an embedding without positions.
void MineOps::embedding(Tensor& out, const Tensor& table, const Tensor& index) {
  if (!passed(2)) return cpu_.embedding(out, table, index);
  lesson_02::embed(out, index, wide(table), zeros({index.count(), table.cols()}));
}

void MineOps::layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  if (!passed(3)) return cpu_.layer_norm(out, x, weight, bias, epsilon);
  lesson_03::layer_norm(out, x, weight, bias, epsilon);
}

void MineOps::relu(Tensor& x) { passed(4) ? lesson_04::relu(x) : cpu_.relu(x); }

void MineOps::sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  if (!passed(llama_ ? 10 : 8) || options != AttentionOptions{}) return cpu_.sdpa(out, q, k, v, options);
  if (llama_) return lesson_10::sdpa(out, q, k, v);
  const Shape queries{q.dim(0), q.dim(2)}, keys{k.dim(0), k.dim(2)};  // lesson 8 has no heads yet
  Tensor read = out.reshaped(queries);
  lesson_08::sdpa(read, q.reshaped(queries), k.reshaped(keys), v.reshaped(keys));
}

// Lesson 11 turns the rows of one sequence, which stand one after the other: here row by row.
void MineOps::apply_rope(Tensor& x, const RopeTables& rotary, const Tensor& position) {
  if (!passed(11)) return cpu_.apply_rope(x, rotary, position);
  for (int64_t n = 0; n < x.dim(0); ++n) {
    Tensor row = x.view_rows(n, 1);  // (1, H, D)
    lesson_11::apply_rope(row, rotary.cos, rotary.sin, position.at<int32_t>(n));
  }
}

void MineOps::rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) {
  if (!passed(12)) return cpu_.rms_norm(out, x, weight, epsilon);
  lesson_12::rms_norm(out, x, wide(weight), epsilon);
}

void MineOps::silu_mul(Tensor& gate, const Tensor& up) {
  if (!passed(13)) return cpu_.silu_mul(gate, up);
  lesson_13::swiglu(gate, up);
}

}  // namespace rungs
