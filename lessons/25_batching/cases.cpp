#include "02_embedding/lesson.hpp"
#include "04_feed_forward/lesson.hpp"
#include "drive.hpp"
#include "pieces.hpp"
#include "rungs/grader/case_model.hpp"

namespace lesson_25 {

static std::vector<int32_t> whole(const Tensor& x) { return {x.data<int32_t>(), x.data<int32_t>() + x.count()}; }

static void output(Recording& rec, const char* name, const std::vector<int32_t>& numbers, int64_t columns = 1) {
  const int64_t n = int64_t(numbers.size());
  Tensor out(columns == 1 ? Shape({n}) : Shape({n / columns, columns}), DType::i32);
  std::copy(numbers.begin(), numbers.end(), out.data<int32_t>());
  rec.output(name, out);
}

static void output_table(Recording& rec, const Blocks& blocks, Table table) {
  output(rec, "holders", blocks.holders);
  table.insert(table.begin(), int32_t(table.size()));
  output(rec, "size_and_table", table);
}

static void run_trace(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  std::vector<Arrival> trace;
  for (int64_t i = 0; i < in["prompt"].count(); ++i)
    trace.push_back({whole(in["arrives"])[size_t(i)], whole(in["prompt"])[size_t(i)], whole(in["answer"])[size_t(i)]});
  Blocks blocks{std::vector<int32_t>(size_t(in.scalar("blocks")))};
  std::vector<int32_t> fed, free;
  drive(trace, blocks, int64_t(in.scalar("block_size")), int64_t(in.scalar("budget")), 300, pieces.plan, pieces.release,
        [&](int64_t step, const std::vector<Piece>& plan, const std::vector<Request>& requests, const Blocks& now) {
          for (const Piece& p : plan)
            for (const int64_t x : {step, requests.at(size_t(p.request)).id, p.start, p.count})
              fed.push_back(int32_t(x));
          free.push_back(int32_t(std::count(now.holders.begin(), now.holders.end(), 0)));
        });
  output(rec, "fed", fed, 4);
  output(rec, "free", free);
}

/// Lesson 08's decoder, with this lesson's cache and attention.  logits: (T, V); tokens: (T) i32
static void paged_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w, KvCache& cache,
                          const Table& table, int64_t start_pos, int64_t block_size, const Pieces& pieces) {
  const int64_t T = tokens.count(), C = w.token_embedding.dim(1);
  Tensor x({T, C}), normed({T, C}), attended({T, C});  // (T, C)
  lesson_02::embed(x, tokens, w.token_embedding, w.position_embedding.view_rows(start_pos, T));
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const LayerWeights& layer = w.layers[i];
    const AttentionWeights& a = layer.attention;
    const Shape of_head{T, a.q.weight.dim(0)};
    Tensor q(of_head), k(of_head), v(of_head), attn_out(of_head);  // (T, D)
    ops.layer_norm(normed, x, layer.attention_norm.weight, layer.attention_norm.bias, w.epsilon);
    ops.linear(q, normed, a.q.weight, a.q.bias);
    ops.linear(k, normed, a.k.weight, a.k.bias);
    ops.linear(v, normed, a.v.weight, a.v.bias);
    pieces.attend(attn_out, q, k, v, cache.layers[i].k, cache.layers[i].v, table, start_pos, block_size);
    ops.linear(attended, attn_out, a.o.weight, a.o.bias);
    ops.add(x, attended);
    lesson_04::feed_forward(ops, x, layer, w.epsilon);
  }
  ops.layer_norm(normed, x, w.final_norm.weight, w.final_norm.bias, w.epsilon);
  ops.linear(logits, normed, w.output.weight, w.output.bias);
}

/// Many requests on one model and one cache. Their texts are known, so that each token is fed as if it had been drawn;
/// recorded are the logits from which each would have been drawn, request by request.
static void run_serve(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const int64_t block_size = int64_t(in.scalar("block_size")), n = in["prompt"].count();
  const std::vector<int32_t> all = whole(in["tokens"]);
  std::vector<Arrival> trace;
  std::vector<std::vector<int32_t>> texts;
  std::vector<int64_t> first_row;  // of each request's logits
  int64_t rows = 0;
  for (int64_t i = 0, begin = 0; i < n; ++i) {
    const auto number = [&](const char* name) { return int64_t(in[name].data<int32_t>()[i]); };
    trace.push_back({number("arrives"), number("prompt"), number("answer")});
    const int64_t length = trace.back().prompt + trace.back().answer;
    texts.emplace_back(all.begin() + begin, all.begin() + begin + length);
    first_row.push_back(rows);
    begin += length, rows += trace.back().answer;
  }
  CountingOps ops(rec);
  const DecoderWeights& w = model_of(in).weights;
  Blocks blocks{std::vector<int32_t>(size_t(in.scalar("blocks")))};
  KvCache cache;
  for (const LayerWeights& layer : w.layers) {
    const int64_t beyond = 8;  // what a wrong row_of meets is NaN, not the memory of something else
    const Shape shape{(int64_t(blocks.holders.size()) + beyond) * block_size, layer.attention.k.weight.dim(0)};
    cache.layers.push_back({Tensor(shape), Tensor(shape)});
  }
  const int64_t V = w.output.weight.dim(0);
  Tensor logits({rows, V});
  const auto make_plan = [&](std::vector<Request>& requests, Blocks& now, int64_t size, int64_t budget) {
    return plan_sharing(requests, now, size, budget, texts, pieces.plan, pieces.block_hashes, pieces.share_prefix);
  };
  drive(trace, blocks, block_size, int64_t(in.scalar("budget")), 300, make_plan, pieces.release,
        [&](int64_t, const std::vector<Piece>& plan, const std::vector<Request>& requests, const Blocks&) {
          for (const Piece& p : plan) {
            const Request& r = requests.at(size_t(p.request));
            if (p.start < 0 || p.count < 1 || p.start + p.count > r.tokens)
              throw Error("A piece has no token, or tokens that are not there.");
            if (p.start + p.count > int64_t(r.table.size()) * block_size)
              throw Error("A piece is fed for which its request has too few blocks.");
            Tensor tokens({p.count}, DType::i32), of_piece({p.count, V});
            std::copy_n(texts[size_t(r.id)].data() + p.start, p.count, tokens.data<int32_t>());
            paged_forward(ops, of_piece, tokens, w, cache, r.table, p.start, block_size, pieces);
            if (p.start + p.count < r.tokens) continue;
            const int64_t row = first_row[size_t(r.id)] + r.tokens - trace[size_t(r.id)].prompt;
            std::copy_n(of_piece.data() + (p.count - 1) * V, V, logits.data() + row * V);
          }
        });
  rec.output("logits", logits);
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "plan") return run_trace(in, pieces, rec);
  if (in.run == "serve") return run_serve(in, pieces, rec);
  if (in.run == "block_hashes") {
    const std::vector<uint32_t> hashes = pieces.block_hashes(whole(in["tokens"]), int64_t(in.scalar("block_size")));
    output(rec, "count", {int32_t(hashes.size())});
    return output(rec, "hashes", {hashes.begin(), hashes.end()});  // in int32, which has the same bits
  }
  if (in.run == "newest") {
    std::vector<Request> requests;
    for (const int32_t held : whole(in["held"])) requests.push_back({0, 9, 0, Table(size_t(held))});
    return output(rec, "newest", {int32_t(pieces.newest(requests))});
  }
  if (in.run == "share_prefix") {
    Index index;
    for (int64_t i = 0; i < in["known"].count(); ++i)
      index[uint32_t(whole(in["known"])[size_t(i)])] = whole(in["known_block"])[size_t(i)];
    Blocks blocks{whole(in["holders"])};
    Table table;
    const int64_t found =
        pieces.share_prefix(blocks, table, whole(in["tokens"]), index, int64_t(in.scalar("block_size")));
    output(rec, "found", {int32_t(found)});
    return output_table(rec, blocks, table);
  }
  Table table = whole(in["table"]);
  if (in.run == "row_of") {
    std::vector<int32_t> rows;
    for (const int32_t p : whole(in["positions"]))
      rows.push_back(int32_t(pieces.row_of(table, p, int64_t(in.scalar("block_size")))));
    return output(rec, "rows", rows);
  }
  if (in.run == "attend") {
    Tensor k = in["k"].copy(), v = in["v"].copy(), out(in["q"].shape());
    pieces.attend(out, in["q"], in["new_k"], in["new_v"], k, v, table, int64_t(in.scalar("start_pos")),
                  int64_t(in.scalar("block_size")));
    rec.output("k", k), rec.output("v", v), rec.output("out", out);
    return;
  }
  Blocks blocks{whole(in["holders"])};
  if (in.run == "take") {
    output(rec, "done", {pieces.take(blocks, table, int64_t(in.scalar("n")))});
  } else if (in.run == "release") {
    pieces.release(blocks, table);
  } else if (in.run == "preempt") {
    Request r{0, int64_t(in.scalar("tokens")), int64_t(in.scalar("computed")), table};
    pieces.preempt(blocks, r);
    output(rec, "tokens_computed", {int32_t(r.tokens), int32_t(r.computed)});
    table = r.table;
  } else {
    Tensor k = in["k"].copy(), v = in["v"].copy();
    output(
        rec, "done",
        {pieces.make_writable(blocks, table, int64_t(in.scalar("position")), int64_t(in.scalar("block_size")), k, v)});
    rec.output("k", k), rec.output("v", v);
  }
  output_table(rec, blocks, table);
}

}  // namespace lesson_25
