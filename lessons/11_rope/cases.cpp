#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_11 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  CountingOps ops(rec);
  if (in.run == "rope_table") {
    const Shape shape{int64_t(in.scalar("context")), int64_t(in.scalar("head_dim")) / 2};
    Tensor cos(shape), sin(shape);  // (context, D/2)
    pieces.rope_table(cos, sin, in.scalar("theta"));
    rec.output("cos", cos);
    rec.output("sin", sin);
  } else if (in.run == "apply_rope") {
    Tensor x = in["x"].copy();  // (T, H, D)
    pieces.apply_rope(x, in["cos"], in["sin"], int64_t(in.scalar("start_pos")));
    rec.output("x", x);
  } else if (in.run == "attention") {
    LayerCache cache = layer_cache_of(in);  // (capacity, G, D)
    Tensor out(in["x"].shape());            // (T, C)
    pieces.attention(ops, out, in["x"], attention_of(in), int64_t(in.scalar("heads")), int64_t(in.scalar("kv_heads")),
                     {in["cos"].view(), in["sin"].view()}, cache, int64_t(in.scalar("start_pos")));
    rec.output("out", out);
    rec.output("cache.k", cache.k);
    rec.output("cache.v", cache.v);
  } else {
    run_cached_forward(in, pieces.decoder_forward, rec);
  }
}

}  // namespace lesson_11
