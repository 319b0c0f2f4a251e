#include <algorithm>
#include <map>
#include <string>

#include "kernels/device_memory.hpp"
#include "pieces.hpp"
#include "rungs/base/file.hpp"

namespace lesson_20 {

/// A model of which everything is on the device.
struct Model {
  Config config;
  LlamaWeights weights;
};

static Tensor on_device(const Tensor& host) { return to_device(converted(host, DType::f32)); }

/// The model that the case names, brought to the device once in a runner process.
static const Model& model_of(const CaseInput& in) {
  static std::map<std::string, Model> open;
  if (const auto it = open.find(in.model); it != open.end()) return it->second;
  const LlamaCheckpoint file(weights_directory() / in.model);
  Model m{file.config, {}};
  const LlamaWeights& w = file.weights;
  m.weights.token_embedding = on_device(w.token_embedding);
  for (const LlamaLayer& l : w.layers)
    m.weights.layers.push_back({on_device(l.attention_norm),
                                {on_device(l.qkv.q), on_device(l.qkv.k), on_device(l.qkv.v), Tensor()},
                                on_device(l.o),
                                on_device(l.ffn_norm),
                                {on_device(l.gate_up.gate), on_device(l.gate_up.up), Tensor()},
                                on_device(l.down)});
  m.weights.final_norm = on_device(w.final_norm), m.weights.output = on_device(w.output);
  m.weights.rotary = {on_device(w.rotary.cos), on_device(w.rotary.sin)};
  m.weights.epsilon = w.epsilon, m.weights.num_heads = w.num_heads, m.weights.num_kv_heads = w.num_kv_heads;
  return open.emplace(in.model, std::move(m)).first->second;
}

static KvCache new_cache(const Config& c, int64_t sequences, int64_t capacity) {
  KvCache cache;
  const Shape shape{sequences, capacity, c.num_kv_heads, c.head_dim};  // (B, capacity, G, D)
  for (int64_t i = 0; i < c.num_layers; ++i)
    cache.layers.push_back({to_device(Tensor(shape)), to_device(Tensor(shape))});
  return cache;
}

/// Room for N rows.
static StepBuffers new_buffers(const Config& c, int64_t N) {
  const auto rows = [&](int64_t columns) { return to_device(Tensor({N, columns})); };
  const auto heads = [&](int64_t count) { return to_device(Tensor({N, count, c.head_dim})); };
  const auto list = [&] { return to_device(Tensor({N}, DType::i32)); };
  return {list(),
          list(),
          list(),
          rows(c.hidden_size),
          rows(c.hidden_size),
          heads(c.num_heads),
          heads(c.num_heads),
          heads(c.num_kv_heads),
          heads(c.num_kv_heads),
          rows(c.intermediate_size),
          rows(c.intermediate_size),
          to_device(Tensor({N, c.num_heads, splits, 2 + c.head_dim})),
          rows(c.vocab_size)};
}

/// The next `rows` entries of a list of the case, as the first ones of a list on the device.
static void bring(Tensor& device, const Tensor& list, int64_t first, int64_t rows) {
  const ConstTensor part = list.view_rows(first, rows);
  CUDA_CHECK(cudaMemcpy(device.raw(), part.raw(), part.bytes(), cudaMemcpyHostToDevice));
}

/// Rows of any sequences, in as many calls as `calls` says.
static void run_forward(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const auto& [config, w] = model_of(in);
  const Tensor &token = in["tokens"], &sequence = in["sequence"], &position = in["position"];  // (N)
  const int32_t* last = std::max_element(sequence.data<int32_t>(), sequence.data<int32_t>() + sequence.count());
  const int64_t capacity = int64_t(in.scalar("capacity"));
  const KvCache cache = new_cache(config, *last + 1, capacity);
  StepBuffers b = new_buffers(config, token.count());
  const int32_t all = int32_t(token.count());
  const ConstTensor calls = in.in.count("calls") ? in["calls"].view() : Tensor::view_of(&all, {1}, DType::i32);
  for (int64_t i = 0, first = 0; i < calls.count(); ++i) {
    const int64_t rows = calls.data<int32_t>()[i];
    bring(b.token, token, first, rows), bring(b.sequence, sequence, first, rows);
    bring(b.position, position, first, rows);
    pieces.llama_forward(w, cache, b, int(rows), nullptr);
    rec.output("logits", to_host(b.logits.view_rows(0, rows)));
    first += rows;
  }
}

/// Goes with its recording, so that one which throws half way does not make every later call of this process an error.
struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { CUDA_CHECK(cudaStreamCreate(&stream)); }
  ~Stream() {
    cudaStreamDestroy(stream);
    cudaGetLastError();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

/// A prompt in one call, then greedy steps; the first token of these is the last of the prompt.
static void run_decode(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  const auto& [config, w] = model_of(in);
  const Tensor& token = in["tokens"];  // (T)
  const int64_t T = token.count(), steps = int64_t(in.scalar("max_tokens")), capacity = T + steps;
  const KvCache cache = new_cache(config, 1, capacity);
  StepBuffers b = new_buffers(config, T);
  Tensor places({T}, DType::i32), zeros({T}, DType::i32);
  for (int64_t t = 0; t < T; ++t) places.data<int32_t>()[t] = int32_t(t);
  bring(b.sequence, zeros, 0, T);
  if (T > 1) {
    bring(b.token, token, 0, T - 1), bring(b.position, places, 0, T - 1);
    pieces.llama_forward(w, cache, b, int(T - 1), nullptr);
  }
  bring(b.token, token, T - 1, 1), bring(b.position, places, T - 1, 1);
  Tensor ids = to_device(Tensor({steps}, DType::i32)), count = to_device(Tensor({1}, DType::i32));
  const Stream stream;
  const std::vector<int32_t> made = pieces.decode(w, cache, b, ids, count, int(steps), stream.stream);
  rec.output("tokens", Tensor::view_of(made.data(), {int64_t(made.size())}, DType::i32));
  rec.output("position", to_host(b.position.view_rows(0, 1)));  // one past the last token that was fed
}

void run(const CaseInput& in, const Pieces& pieces, Recording& rec) {
  in.run == "decode" ? run_decode(in, pieces, rec) : run_forward(in, pieces, rec);
}

}  // namespace lesson_20
