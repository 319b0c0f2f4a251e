#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_09 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  CountingOps ops(rec);
  if (in.run == "split_heads") {
    Tensor x = in["x"].copy();
    rec.output("out", pieces.split_heads(x, int64_t(in.scalar("heads"))));  // (T, H, D)
  } else if (in.run == "sdpa") {
    Tensor out(in["q"].shape());  // (T, H, D)
    pieces.sdpa(out, in["q"], in["k"], in["v"]);
    rec.output("out", out);
  } else if (in.run == "attention") {
    LayerCache cache = layer_cache_of(in);  // (capacity, H, D)
    Tensor out(in["x"].shape());            // (T, C)
    pieces.attention(ops, out, in["x"], attention_of(in), int64_t(in.scalar("heads")), cache,
                     int64_t(in.scalar("start_pos")));
    rec.output("out", out);
    rec.output("cache.k", cache.k);
    rec.output("cache.v", cache.v);
  } else {
    run_cached_forward(in, pieces.decoder_forward, rec);
  }
}

}  // namespace lesson_09
