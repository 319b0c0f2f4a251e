#include <cmath>

#include "pieces.hpp"
#include "rungs/base/file.hpp"

namespace lesson_23 {

static int64_t number(const CaseInput& in, const char* name) { return int64_t(in.scalar(name)); }

static std::vector<int64_t> list(const Tensor& numbers) {
  return {numbers.data<int32_t>(), numbers.data<int32_t>() + numbers.count()};
}

static void record(Recording& rec, const char* name, double number) {
  rec.output(name, Tensor::view_of(&number, {}, DType::f64));
}

/// A count is a whole number, and equal to the reference's or wrong. What is no whole number is shown as it is.
static void record_count(Recording& rec, const char* name, double count) {
  const int64_t whole = std::abs(count) < 0x1p62 ? int64_t(count) : 0;
  if (double(whole) != count) return record(rec, name, count);
  rec.output(name, Tensor::view_of(&whole, {}, DType::i64));
}

static void record(Recording& rec, const Cost& cost) {
  record_count(rec, "flops", cost.flops);
  record_count(rec, "bytes", cost.bytes);
}

/// Of the model that the case names, or of the sizes that it gives.
static Config config_of(const CaseInput& in) {
  if (!in.model.empty()) return load_config(weights_directory() / in.model);
  Config c;
  c.hidden_size = number(in, "hidden_size"), c.num_heads = number(in, "num_heads"),
  c.num_kv_heads = number(in, "num_kv_heads");
  c.head_dim = number(in, "head_dim"), c.intermediate_size = number(in, "intermediate_size");
  c.num_layers = number(in, "num_layers"), c.vocab_size = number(in, "vocab_size");
  return c;
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const auto n = [&in](const char* name) { return number(in, name); };
  if (in.run == "attention") {
    record(rec, pieces.attention(n("queries"), n("keys"), n("d"), n("element_bytes")));
  } else if (in.run == "prefill_attention") {
    record(rec, pieces.prefill_attention(n("N"), n("d"), n("element_bytes")));
  } else if (in.run == "decode_attention") {
    record(rec, pieces.decode_attention(n("N"), n("d"), n("batch"), n("shared") != 0, n("element_bytes")));
  } else if (in.run == "linear") {
    record(rec, pieces.linear(n("rows"), n("in"), n("out"), n("element_bytes")));
  } else if (in.run == "forward") {
    record(rec, pieces.forward(config_of(in), n("batch"), n("rows"), n("past"), n("element_bytes")).total());
  } else if (in.run == "ridge") {
    record(rec, "ridge", pieces.ridge(in.scalar("bandwidth"), in.scalar("peak")));
  } else if (in.run == "attainable") {
    record(rec, "attainable", pieces.attainable(in.scalar("intensity"), in.scalar("bandwidth"), in.scalar("peak")));
  } else if (in.run == "least_seconds") {
    std::vector<Cost> operations;
    for (int64_t i = 0; i < in["flops"].count(); ++i)
      operations.push_back({in["flops"].value(i), in["bytes"].value(i)});
    record(rec, "seconds", pieces.least_seconds(operations, in.scalar("bandwidth"), in.scalar("peak")));
  } else {
    const bool prefill = in.run == "prefill_curve";
    const std::vector<int64_t> points = list(in[prefill ? "contexts" : "batches"]);
    Tensor out({int64_t(points.size())});
    if (prefill)
      pieces.prefill_curve(out, points, n("d"), n("element_bytes"));
    else
      pieces.decode_curve(out, points, n("N"), n("d"), n("shared") != 0, n("element_bytes"));
    rec.output("out", out);
  }
}

}  // namespace lesson_23
