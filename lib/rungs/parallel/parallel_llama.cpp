#include "rungs/parallel/parallel_llama.hpp"

#include "rungs/model/scratch.hpp"
#include "rungs/parallel/split_llama.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

ParallelLlama::ParallelLlama(const Backend& backend, Collectives ranks, LlamaCheckpoint whole,
                             const LoadOptions& options)
    : backend_(backend),
      ranks_(std::move(ranks)),
      checkpoint_(std::move(whole)),
      max_rows_(options.max_rows ? options.max_rows : config().max_seq_len),
      words_(part_of(config().vocab_size, ranks_.rank, ranks_.ranks)),
      rows_(backend.device, max_rows_),
      own_token_(backend.device.allocate({max_rows_}, DType::i32)),
      zeros_(backend.device.allocate({1, config().hidden_size})) {
  own_rows_.reserve(size_t(max_rows_));
  backend.device.upload(zeros_, std::vector<float>(size_t(zeros_.count())).data());
  split(checkpoint_, ranks_.rank, ranks_.ranks);
  upload_weights(backend, config(), checkpoint_.weights, options);
  scratch_ = allocate_scratch<LlamaScratch>(backend.device, config(), max_rows_);
}

/// x = the token's row of the table, which one rank has; of the others comes 0.  x: (N, C); token: (N)
void ParallelLlama::embed(Tensor& x, const std::vector<int32_t>& token) {
  const auto is_mine = [&](int32_t id) { return id >= words_.first && id < words_.first + words_.count; };
  own_rows_.clear();
  for (const int32_t id : token) own_rows_.push_back(is_mine(id) ? int32_t(id - words_.first) : 0);
  Tensor own = own_token_.view_rows(0, int64_t(token.size()));  // (N)
  backend_.device.upload(own, own_rows_.data());
  backend_.ops.embedding(x, weights().token_embedding, own);
  for (size_t n = 0; n < token.size(); ++n) {
    if (is_mine(token[n])) continue;
    Tensor row = x.view_rows(int64_t(n), 1);  // (1, C)
    backend_.ops.copy(row, zeros_);
  }
  ranks_.all_reduce(x);
}

/// x += y · weightᵀ, where each rank has some columns of y and of weight: their products are summed over the ranks,
/// and the sum, once, goes to the residual stream that every rank has.  x, scratch: (N, C); y: (N, K / ranks)
void ParallelLlama::add_row_parallel(Tensor& x, Tensor& scratch, const Tensor& y, const Tensor& weight) {
  backend_.ops.linear(scratch, y, weight, {});
  ranks_.all_reduce(scratch);
  backend_.ops.add(x, scratch);
}

/// The first n elements of memory that grows when more is wanted.
static Tensor room(Device& device, Tensor& memory, int64_t n) {
  if (memory.count() < n) memory = device.allocate({n});
  return memory.view_rows(0, n);
}

/// Each rank has the logits of its part of the vocabulary.  logits: (M, V); x: (M, C)
void ParallelLlama::gather_logits(Tensor& logits, const Tensor& x) {
  const int64_t M = x.dim(0), V = logits.dim(1), most = part_of(V, 0, ranks_.ranks).count;
  const Tensor mine = room(backend_.device, logits_, M * most);
  Tensor all = room(backend_.device, gathered_, ranks_.ranks * M * most);
  Tensor own = logits_.view_rows(0, M * words_.count).reshaped({M, words_.count});
  backend_.ops.linear(own, x, weights().output, {});
  ranks_.all_gather(all, mine);
  Tensor flat = logits.reshaped({M * V});
  for (int rank = 0; rank < ranks_.ranks; ++rank) {
    const Part words = part_of(V, rank, ranks_.ranks);
    for (int64_t m = 0; m < M; ++m) {
      Tensor row = flat.view_rows(m * V + words.first, words.count);
      backend_.ops.copy(row, all.view_rows(rank * M * most + m * words.count, words.count));
    }
  }
}

void ParallelLlama::forward(Tensor& logits, const Batch& batch, KvCache* cache) {
  const Rows& rows = rows_.fill(backend_.device, batch, config(), cache);
  LlamaScratch s = rows_of_scratch(scratch_, config(), rows.token.count());
  const LlamaWeights& w = weights();
  Steps& steps = backend_.steps;

  embed(s.x, batch.token);  // (N, C)
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer tap_layer{int64_t(i)};
    const LlamaLayer& layer = w.layers[i];
    steps.self_attention(s.attn_out, {s.q, s.k, s.v}, s.normed, s.x, {layer.attention_norm, w.epsilon}, layer.qkv,
                         w.rotary, rows, cache ? &cache->layers[i] : nullptr);  // (N, H·D) of this rank
    const ConstTensor flat = s.attn_out.reshaped({s.x.dim(0), layer.o.dim(1)});
    add_row_parallel(s.x, s.projected, flat, layer.o);  // (N, C)
    steps.norm_swiglu(s.hidden, s.up, s.normed, s.x, {layer.ffn_norm, w.epsilon},
                      layer.gate_up);                          // (N, F) of this rank
    add_row_parallel(s.x, s.projected, s.hidden, layer.down);  // (N, C)
    tap("x", s.x);
  }
  s.last_x = s.last_x.view_rows(0, rows.logit_rows.count());
  s.normed = s.normed.view_rows(0, rows.logit_rows.count());
  backend_.ops.embedding(s.last_x, s.x, rows.logit_rows);              // (M, C)
  backend_.ops.rms_norm(s.normed, s.last_x, w.final_norm, w.epsilon);  // (M, C)
  if (s.normed.dim(0) > 0) gather_logits(logits, s.normed);            // (M, V)
  ranks_.wait();
}

Traffic traffic_of_call(const Config& c, int64_t rows, int64_t logit_rows, int rank, int ranks) {
  const int64_t sums = 2 * c.num_layers + 1, part = part_of(c.vocab_size, 0, ranks).count;
  const int64_t logit_bytes = (ranks - 1) * logit_rows * part * int64_t(sizeof(float));
  return {.all_reduces = sums,
          .all_gathers = logit_rows > 0,
          .bytes_sent = sums * all_reduce_bytes(rows * c.hidden_size, rank, ranks) + logit_bytes};
}

}  // namespace rungs
