#include "rungs/model/decoder.hpp"

#include <fmt/format.h>

#include "rungs/model/memory_estimate.hpp"
#include "rungs/model/scratch.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs {

/// x += attention(attention_norm(x)).  x: (N, C), updated in place.
static void attention_block(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon, const Rows& rows,
                            LayerCache* cache, DecoderScratch& s) {
  ops.layer_norm(s.normed, x, w.attention_norm.weight, w.attention_norm.bias, epsilon);  // (N, C)
  tap("attention_normed", s.normed);
  ops.linear(s.q, s.normed, w.attention.q.weight, w.attention.q.bias);  // (N, 1, D)
  ops.linear(s.k, s.normed, w.attention.k.weight, w.attention.k.bias);  // (N, 1, D)
  ops.linear(s.v, s.normed, w.attention.v.weight, w.attention.v.bias);  // (N, 1, D)
  tap("q", s.q), tap("k", s.k), tap("v", s.v);
  ops.attention(s.attn_out, s.q, s.k, s.v, rows, cache);  // (N, 1, D)
  tap("attn_out", s.attn_out);
  ops.linear(s.projected, s.attn_out, w.attention.o.weight, w.attention.o.bias);  // (N, C)
  tap("attention", s.projected);
  ops.add(x, s.projected);  // residual
}

/// x += down(relu(up(ffn_norm(x)))).  x: (N, C), updated in place.
static void feed_forward_block(Ops& ops, Tensor& x, const LayerWeights& w, float epsilon, DecoderScratch& s) {
  ops.layer_norm(s.normed, x, w.ffn_norm.weight, w.ffn_norm.bias, epsilon);  // (N, C)
  tap("normed", s.normed);
  ops.linear(s.hidden, s.normed, w.up.weight, w.up.bias);  // (N, F)
  tap("up", s.hidden);
  ops.relu(s.hidden);  // (N, F)
  tap("hidden", s.hidden);
  ops.linear(s.projected, s.hidden, w.down.weight, w.down.bias);  // (N, C)
  ops.add(x, s.projected);                                        // residual
  tap("x", x);
}

void Decoder::forward(Tensor& logits, const Batch& batch, KvCache* cache) {
  const Rows& rows = rows_.fill(backend_.device, batch, config(), cache);
  DecoderScratch s = rows_of_scratch(scratch_, config(), batch.rows());
  const DecoderWeights& w = checkpoint_.weights;
  Ops& ops = backend_.ops;

  ops.embedding(s.x, w.token_embedding, rows.token);                // (N, C)
  ops.embedding(s.positions, w.position_embedding, rows.position);  // (N, C)
  ops.add(s.x, s.positions);
  tap("x", s.x);
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const TapLayer layer{int64_t(i)};
    attention_block(ops, s.x, w.layers[i], w.epsilon, rows, cache ? &cache->layers[i] : nullptr, s);
    feed_forward_block(ops, s.x, w.layers[i], w.epsilon, s);
  }
  s.last_x = s.last_x.view_rows(0, rows.logit_rows.count());
  s.normed = s.normed.view_rows(0, rows.logit_rows.count());
  ops.embedding(s.last_x, s.x, rows.logit_rows);                                          // (M, C)
  ops.layer_norm(s.normed, s.last_x, w.final_norm.weight, w.final_norm.bias, w.epsilon);  // (M, C)
  tap("normed", s.normed);
  ops.linear(logits, s.normed, w.output.weight, w.output.bias);  // (M, V)
  tap("logits", logits);
}

static std::vector<ConstTensor*> all_weights(DecoderWeights& w) {
  std::vector<ConstTensor*> all = {&w.token_embedding, &w.position_embedding};
  const auto both = [&](auto& part) { all.insert(all.end(), {&part.weight, &part.bias}); };
  for (LayerWeights& layer : w.layers) {
    both(layer.attention_norm), both(layer.ffn_norm), both(layer.up), both(layer.down);
    both(layer.attention.q), both(layer.attention.k), both(layer.attention.v), both(layer.attention.o);
  }
  both(w.final_norm), both(w.output);
  return all;
}

Decoder::Decoder(const Backend& backend, const std::filesystem::path& directory, const LoadOptions& options)
    : backend_(backend),
      checkpoint_(directory),
      max_rows_(options.max_rows ? options.max_rows : config().max_seq_len),
      rows_(backend.device, max_rows_) {
  if (config().num_heads > 1 || config().rotary || config().rms_norm || config().gated)
    throw UsageError(
        fmt::format("{}: this is a model of the lessons 9 to 13, on the way to LLaMA: their code runs it, "
                    "the engine runs the decoder of lesson 8 and LLaMA",
                    directory.string()));
  const std::vector<ConstTensor*> weights = all_weights(checkpoint_.weights);
  int64_t bytes = 0;
  for (const ConstTensor* weight : weights) bytes += int64_t(weight->bytes());
  check_memory(backend.device, config(), bytes, options);
  for (ConstTensor* weight : weights) backend.device.upload_weights(*weight);
  scratch_ = allocate_scratch<DecoderScratch>(backend.device, config(), max_rows_);
}

static DecoderWeights decoder_weights(const SafeTensors& file, const Config& c) {
  size_t taken = 0;
  const auto take = [&](const std::string& name, const Shape& shape) {
    ++taken;
    return file.get(name, shape, DType::f32);
  };
  const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
    return LinearWeights{take(name + ".weight", {out, in}), c.gated ? ConstTensor() : take(name + ".bias", {out})};
  };
  const auto norm = [&](const std::string& name) {
    return NormWeights{take(name + ".weight", {c.hidden_size}),
                       c.rms_norm ? ConstTensor() : take(name + ".bias", {c.hidden_size})};
  };

  DecoderWeights w;
  w.token_embedding = take("token_embedding.weight", {c.vocab_size, c.hidden_size});
  if (c.rotary)
    w.rotary = rope_table(c.rope, c.head_dim, c.max_seq_len);
  else
    w.position_embedding = take("position_embedding.weight", {c.max_seq_len, c.hidden_size});
  const int64_t q_width = c.num_heads * c.head_dim, kv_width = c.num_kv_heads * c.head_dim;
  for (int64_t i = 0; i < c.num_layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i), attention = layer + "attention.";
    w.layers.push_back(
        {norm(layer + "attention_norm"),
         {linear(attention + "q", q_width, c.hidden_size), linear(attention + "k", kv_width, c.hidden_size),
          linear(attention + "v", kv_width, c.hidden_size), linear(attention + "o", c.hidden_size, q_width)},
         norm(layer + "ffn_norm"),
         c.gated ? linear(layer + "feed_forward.gate", c.intermediate_size, c.hidden_size) : LinearWeights(),
         linear(layer + "feed_forward.up", c.intermediate_size, c.hidden_size),
         linear(layer + "feed_forward.down", c.hidden_size, c.intermediate_size)});
  }
  w.final_norm = norm("final_norm");
  w.output = linear("output", c.vocab_size, c.hidden_size);
  w.epsilon = c.epsilon;
  w.num_heads = c.num_heads;
  w.num_kv_heads = c.num_kv_heads;
  if (taken != file.names().size())
    throw FileError(fmt::format("{}: a decoder of {} layers has {} tensors, the file has {}", file.path(), c.num_layers,
                                taken, file.names().size()));
  return w;
}

DecoderCheckpoint::DecoderCheckpoint(const std::filesystem::path& directory)
    : config(load_config(directory)), file(directory / "model.safetensors"), weights(decoder_weights(file, config)) {}

}  // namespace rungs
