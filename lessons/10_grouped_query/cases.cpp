#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_10 {

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  CountingOps ops(rec);
  if (in.run == "sdpa") {
    Tensor out(in["q"].shape());  // (T, H, D)
    pieces.sdpa(out, in["q"], in["k"], in["v"]);
    rec.output("out", out);
  } else if (in.run == "attention") {
    LayerCache cache = layer_cache_of(in);  // (capacity, G, D)
    Tensor out(in["x"].shape());            // (T, C)
    pieces.attention(ops, out, in["x"], attention_of(in), int64_t(in.scalar("heads")), int64_t(in.scalar("kv_heads")),
                     cache, int64_t(in.scalar("start_pos")));
    rec.output("out", out);
    rec.output("cache.k", cache.k);
    rec.output("cache.v", cache.v);
  } else if (in.run == "cache_bytes") {
    Config c;
    c.num_layers = int64_t(in.scalar("num_layers")), c.hidden_size = int64_t(in.scalar("hidden_size"));
    c.num_heads = int64_t(in.scalar("num_heads")), c.num_kv_heads = int64_t(in.scalar("num_kv_heads"));
    c.head_dim = int64_t(in.scalar("head_dim"));
    const int64_t bytes = pieces.cache_bytes(c, int64_t(in.scalar("positions")), int64_t(in.scalar("element_bytes")));
    rec.output("bytes", Tensor::view_of(&bytes, {}, DType::i64));
  } else {
    run_cached_forward(in, pieces.decoder_forward, rec);
  }
}

}  // namespace lesson_10
