#include "drive.hpp"
#include "pieces.hpp"

namespace lesson_25 {

static std::vector<int32_t> whole(const Tensor& x) { return {x.data<int32_t>(), x.data<int32_t>() + x.count()}; }

static void output(Recording& rec, const char* name, const std::vector<int32_t>& numbers, int64_t columns = 1) {
  const int64_t n = int64_t(numbers.size());
  Tensor out(columns == 1 ? Shape({n}) : Shape({n / columns, columns}), DType::i32);
  std::copy(numbers.begin(), numbers.end(), out.data<int32_t>());
  rec.output(name, out);
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

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "plan") return run_trace(in, pieces, rec);
  if (in.run == "newest") {
    std::vector<Request> requests;
    for (const int32_t held : whole(in["held"])) requests.push_back({0, 9, 0, Table(size_t(held))});
    return output(rec, "newest", {int32_t(pieces.newest(requests))});
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
  output(rec, "holders", blocks.holders);
  table.insert(table.begin(), int32_t(table.size()));
  output(rec, "size_and_table", table);
}

}  // namespace lesson_25
