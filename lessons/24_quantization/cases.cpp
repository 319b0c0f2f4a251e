#include <cfenv>

#include "pieces.hpp"
#include "rungs/base/error.hpp"

namespace lesson_24 {

/// Whole numbers travel as i32.
template <class T>
static std::vector<T> narrow(const Tensor& wide) {
  std::vector<T> q;
  for (int64_t i = 0; i < wide.count(); ++i) q.push_back(T(wide.data<int32_t>()[i]));
  return q;
}

template <class Numbers>
static void output(Recording& rec, const char* name, const Numbers& q, const Shape& shape) {
  Tensor wide(shape, DType::i32);
  if (int64_t(q.size()) != shape.count()) wide = Tensor({int64_t(q.size())}, DType::i32);
  std::copy(q.begin(), q.end(), wide.template data<int32_t>());
  rec.output(name, wide);
}

static void output(Recording& rec, const char* name, double number) {
  rec.output(name, Tensor::view_of(&number, {}, DType::f64));
}

static Int8 int8_of(const CaseInput& in, const char* q, const char* scale) {
  return {narrow<int8_t>(in[q]), in[scale].copy()};
}

static void run_block(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const q4_0 block = pieces.quantize_block(in["x"]);
  output(rec, "f16_scale", to_float(block.scale));
  output(rec, "q", std::span(block.q), {block_elements / 2});
}

static void run_affine(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const Affine a = pieces.quantize_affine(in["x"]);
  output(rec, "scale", a.scale);
  output(rec, "zero", std::vector{a.zero}, {1});
  output(rec, "q", a.q, in["x"].shape());
}

static void run_quantize(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const bool groups = in.run == "quantize_groups";
  std::feclearexcept(FE_INVALID);
  const Int8 a =
      groups ? pieces.quantize_groups(in["x"], int64_t(in.scalar("group"))) : pieces.quantize_tensor(in["x"]);
  if (std::fetestexcept(FE_INVALID))  // most processors make 0 of it, not all
    throw Error("0 / 0 was rounded to a whole number: where the scale is 0, so is the result, without a division");
  rec.output("scale", a.scale);
  output(rec, "q", a.q, in["x"].shape());
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run.starts_with("quantize_"))
    return in.run == "quantize_block"    ? run_block(in, pieces, rec)
           : in.run == "quantize_affine" ? run_affine(in, pieces, rec)
                                         : run_quantize(in, pieces, rec);
  if (in.run == "int8_scale") {
    output(rec, "scale", pieces.int8_scale({in["x"].data(), size_t(in["x"].count())}));
  } else if (in.run == "to_int8") {
    std::vector<int8_t> q;
    for (int64_t i = 0; i < in["x"].count(); ++i) q.push_back(pieces.to_int8(in["x"](i), float(in.scalar("scale"))));
    output(rec, "q", q, in["x"].shape());
  } else if (in.run == "dot") {
    output(rec, "out",
           pieces.dot(narrow<int8_t>(in["w"]), float(in.scalar("w_scale")), narrow<int8_t>(in["x"]),
                      float(in.scalar("x_scale"))));
  } else if (in.run == "predicted_error") {
    output(rec, "error", pieces.predicted_error(in["scale"]));
  } else if (in.run == "measured_error") {
    output(rec, "error", pieces.measured_error(in["x"], in["y"]));
  } else if (in.run == "linear") {
    Tensor out({in["x"].dim(0), in["weight_scale"].dim(0)});  // (N, K)
    pieces.linear(out, in["x"], int8_of(in, "weight_q", "weight_scale"), int64_t(in.scalar("group")));
    rec.output("out", out);
  } else if (in.run == "scores_from_cache") {
    Tensor scores({in["q"].dim(0), in["keys_q"].dim(0)});  // (H, S)
    pieces.scores_from_cache(scores, in["q"], int8_of(in, "keys_q", "keys_scale"));
    rec.output("scores", scores);
  } else {  // dequantize_...
    Tensor out(in["q"].shape());
    if (in.run == "dequantize_tensor") {
      pieces.dequantize_tensor(out, int8_of(in, "q", "scale"));
    } else if (in.run == "dequantize_groups") {
      pieces.dequantize_groups(out, int8_of(in, "q", "scale"), int64_t(in.scalar("group")));
    } else if (in.run == "dequantize_affine") {
      pieces.dequantize_affine(out, {narrow<uint8_t>(in["q"]), float(in.scalar("scale")), int32_t(in.scalar("zero"))});
    } else {
      out = Tensor({block_elements});
      q4_0 block{to_f16(float(in.scalar("scale"))), {}};
      const auto bytes = narrow<uint8_t>(in["q"]);
      std::copy(bytes.begin(), bytes.end(), block.q);
      pieces.dequantize_block(out, block);
    }
    rec.output("out", out);
  }
}

}  // namespace lesson_24
