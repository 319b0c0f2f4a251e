#include <mutex>

#include "pieces.hpp"
#include "rungs/parallel/thread_ranks.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_26 {

/// Seconds that a rank waits for another that has not ended, as one in an endless loop.
static constexpr double patience = 2;

/// What one rank gives to `each`: its end of the communicator, and where its answer goes.
using OfRank = std::function<void(Communicator&, Tensor& out)>;

/// Runs `each` on all ranks. Answers of `shape` are recorded rank by rank as `name`, (R, ...), then the calls that each
/// rank made. Of rank 0 the taps are recorded, too.
static void on_ranks(const CaseInput& in, Recording& rec, const char* name, const Shape& shape, const OfRank& each) {
  const int ranks = int(in.scalar("ranks"));
  std::vector<Tensor> outs;
  for (int rank = 0; rank < ranks; ++rank) outs.emplace_back(shape);
  Tensor calls({ranks, 2}, DType::i32);
  std::vector<std::pair<std::string, Tensor>> taps;
  const auto show = [&] {
    for (const auto& [tapped, tensor] : taps) tap(tapped.c_str(), tensor);
  };
  const auto work = [&](Communicator& communicator) {
    const int rank = communicator.rank();
    if (rank == 0) watch_taps([&](const std::string& tapped, const Tensor& t) { taps.emplace_back(tapped, t.copy()); });
    each(communicator, outs[size_t(rank)]);
    calls.at<int32_t>(rank, 0) = int32_t(communicator.traffic().all_reduces);
    calls.at<int32_t>(rank, 1) = int32_t(communicator.traffic().all_gathers);
  };
  try {
    run_ranks(ranks, work, patience);
  } catch (...) {
    show();
    throw;
  }
  show();
  std::vector<int64_t> dims = {ranks};
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape[i]);
  Tensor all{Shape(dims)};
  for (int rank = 0; rank < ranks; ++rank)
    std::copy_n(outs[size_t(rank)].data(), shape.count(), all.data() + rank * shape.count());
  rec.output(name, all);
  rec.output("calls", calls);
}

/// Part r of an input that has one for each rank in its first dimension.
static ConstTensor of_rank(const CaseInput& in, const char* name, int rank) { return in[name][rank]; }

static LlamaLayer layer_of(const CaseInput& in) {
  const auto get = [&](const char* name) { return in[name].view(); };
  return {get("attention_norm"), {get("q"), get("k"), get("v"), {}}, get("o"),
          get("ffn_norm"),       {get("gate"), get("up"), {}},       get("down")};
}

static Config config_of(const CaseInput& in) {
  Config c;
  c.num_heads = int64_t(in.scalar("heads")), c.num_kv_heads = int64_t(in.scalar("kv_heads"));
  c.head_dim = int64_t(in.scalar("head_dim")), c.epsilon = float(in.scalar("epsilon"));
  return c;
}

static RopeTables rope_of(const CaseInput& in) { return {in["cos"].view(), in["sin"].view()}; }

static void output(Recording& rec, const char* name, const std::vector<int64_t>& numbers) {
  Tensor out({int64_t(numbers.size())}, DType::i32);
  std::copy(numbers.begin(), numbers.end(), out.data<int32_t>());
  rec.output(name, out);
}

/// A rank's layer, made here and not by the code under grade: sizes alone decide who has which head.
static LlamaLayer right_part(const CaseInput& in, int rank, int ranks) {
  const LlamaLayer w = layer_of(in);
  const Config s = config_of(in);
  const int64_t D = s.head_dim, H = s.num_heads / ranks, G = std::max<int64_t>(1, s.num_kv_heads / ranks);
  const int64_t first_kv = rank * s.num_kv_heads / ranks, F = w.gate_up.gate.dim(0) / ranks;
  const auto rows = [](const ConstTensor& weight, int64_t first, int64_t n) {
    return weight.view_rows(first, n).copy();
  };
  const auto columns = [](const ConstTensor& weight, int64_t first, int64_t n) {
    Tensor out({weight.dim(0), n});
    for (int64_t k = 0; k < weight.dim(0); ++k)
      for (int64_t i = 0; i < n; ++i) out(k, i) = weight(k, first + i);
    return out;
  };
  return {
      w.attention_norm.copy(),
      {rows(w.qkv.q, rank * H * D, H * D), rows(w.qkv.k, first_kv * D, G * D), rows(w.qkv.v, first_kv * D, G * D), {}},
      columns(w.o, rank * H * D, H * D),
      w.ffn_norm.copy(),
      {rows(w.gate_up.gate, rank * F, F), rows(w.gate_up.up, rank * F, F), {}},
      columns(w.down, rank * F, F)};
}

static void run_split(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const int rank = int(in.scalar("rank")), ranks = int(in.scalar("ranks"));
  if (in.run == "share_of" || in.run == "kv_share_of") {
    const Part part =
        (in.run == "share_of" ? pieces.share_of : pieces.kv_share_of)(int64_t(in.scalar("n")), rank, ranks);
    return output(rec, "part", {part.first, part.count});
  }
  const LlamaLayer mine = pieces.split_layer(layer_of(in), config_of(in), rank, ranks);
  const std::pair<const char*, const ConstTensor&> parts[] = {
      {"q", mine.qkv.q},           {"k", mine.qkv.k},       {"v", mine.qkv.v},  {"o", mine.o},
      {"gate", mine.gate_up.gate}, {"up", mine.gate_up.up}, {"down", mine.down}};
  for (const auto& [name, tensor] : parts) rec.output(name, tensor);
}

static void run_products(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "column_parallel") {
    Tensor out({in["x"].dim(0), in["weight"].dim(0)});
    const ConstTensor bias = in.in.count("bias") ? in["bias"].view() : ConstTensor();
    pieces.column_parallel(out, in["x"], in["weight"], bias);
    return rec.output("out", out);
  }
  const Shape shape{in["x"].dim(1), in["weight"].dim(1)};  // (N, K)
  on_ranks(in, rec, "out", shape, [&](Communicator& ranks, Tensor& out) {
    const ConstTensor bias = in.in.count("bias") ? in["bias"].view() : ConstTensor();
    pieces.row_parallel(ranks, out, of_rank(in, "x", ranks.rank()), of_rank(in, "weight", ranks.rank()), bias);
  });
}

static void run_vocabulary(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const int64_t words = in["table"].dim(1), C = in["table"].dim(2);
  if (in.run == "embed")
    return on_ranks(in, rec, "out", {in["tokens"].dim(0), C}, [&](Communicator& ranks, Tensor& out) {
      pieces.embed(ranks, out, in["tokens"], of_rank(in, "table", ranks.rank()), {ranks.rank() * words, words});
    });
  const Shape shape{in["x"].dim(0), words * in["table"].dim(0)};
  on_ranks(in, rec, "logits", shape, [&](Communicator& ranks, Tensor& logits) {
    pieces.output(ranks, logits, in["x"], of_rank(in, "table", ranks.rank()));
  });
}

static void run_layer(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  on_ranks(in, rec, "out", in["x"].shape(), [&](Communicator& ranks, Tensor& out) {
    CpuOps ops;
    const LlamaLayer mine = right_part(in, ranks.rank(), ranks.ranks());
    const Config config = config_of(in);
    if (in.run == "attention") return pieces.attention(ops, ranks, out, in["x"], mine, config, rope_of(in));
    if (in.run == "feed_forward") return pieces.feed_forward(ops, ranks, out, in["x"], mine);
    std::copy_n(in["x"].data(), in["x"].count(), out.data());
    pieces.layer(ops, ranks, out, mine, config, rope_of(in));
  });
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  if (in.run == "share_of" || in.run == "kv_share_of" || in.run == "split_layer") return run_split(in, pieces, rec);
  if (in.run == "take_rows" || in.run == "take_columns") {
    const Part part{int64_t(in.scalar("first")), int64_t(in.scalar("count"))};
    return rec.output("out", (in.run == "take_rows" ? pieces.take_rows : pieces.take_columns)(in["weight"], part));
  }
  if (in.run == "column_parallel" || in.run == "row_parallel") return run_products(in, pieces, rec);
  if (in.run == "embed" || in.run == "output") return run_vocabulary(in, pieces, rec);
  if (in.run != "bytes_sent") return run_layer(in, pieces, rec);
  const auto size = [&](const char* name) { return int64_t(in.scalar(name)); };
  output(rec, "bytes", {pieces.bytes_sent(size("layers"), size("N"), size("C"), size("V"), int(size("ranks")))});
}

}  // namespace lesson_26
