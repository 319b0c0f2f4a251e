// Lesson 20: a story told by kernels alone.
#include <fmt/format.h>

#include "kernels/device_memory.hpp"
#include "lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

using namespace rungs;

static Tensor on_device(const Tensor& host) { return to_device(converted(host, DType::f32)); }

static LlamaWeights bring(const LlamaWeights& w) {
  LlamaWeights d;
  d.token_embedding = on_device(w.token_embedding);
  for (const LlamaLayer& l : w.layers)
    d.layers.push_back({on_device(l.attention_norm),
                        {on_device(l.qkv.q), on_device(l.qkv.k), on_device(l.qkv.v), Tensor()},
                        on_device(l.o),
                        on_device(l.ffn_norm),
                        {on_device(l.gate_up.gate), on_device(l.gate_up.up), Tensor()},
                        on_device(l.down)});
  d.final_norm = on_device(w.final_norm), d.output = on_device(w.output);
  d.rotary = {on_device(w.rotary.cos), on_device(w.rotary.sin)};
  d.epsilon = w.epsilon, d.num_heads = w.num_heads, d.num_kv_heads = w.num_kv_heads;
  return d;
}

int main(int argc, char** argv) {
  const LlamaCheckpoint file(weights_directory() / "stories");
  const Config& c = file.config;
  const LlamaWeights w = bring(file.weights);
  const auto words = load_tokenizer(weights_directory() / "stories");
  const char* text = argc > 1 ? argv[1] : "Once upon a time, there was a little";
  std::vector<int32_t> prompt = words->encode(text);
  prompt.insert(prompt.begin(), c.bos);
  const int64_t T = int64_t(prompt.size()), steps = 24, capacity = T + steps;

  KvCache cache;
  for (int64_t i = 0; i < c.num_layers; ++i) {
    const Shape rows{1, capacity, c.num_kv_heads, c.head_dim};  // (B, capacity, G, D)
    cache.layers.push_back({device_tensor(rows), device_tensor(rows)});
  }
  const auto list = [&](const std::vector<int32_t>& ids) {
    return to_device(Tensor::view_of(ids.data(), {int64_t(ids.size())}, DType::i32));
  };
  std::vector<int32_t> places;
  for (int64_t t = 0; t < T; ++t) places.push_back(int32_t(t));
  const auto rows = [&](int64_t columns) { return device_tensor({T, columns}); };
  const auto heads = [&](int64_t count) { return device_tensor({T, count, c.head_dim}); };
  StepBuffers b{list(prompt),
                list(std::vector<int32_t>(size_t(T), 0)),
                list(places),
                rows(c.hidden_size),
                rows(c.hidden_size),
                heads(c.num_heads),
                heads(c.num_heads),
                heads(c.num_kv_heads),
                heads(c.num_kv_heads),
                rows(c.intermediate_size),
                rows(c.intermediate_size),
                device_tensor({T, c.num_heads, lesson_20::splits, 2 + c.head_dim}),
                rows(c.vocab_size)};

  // The prompt in one call, all but its last token; that one is the first that decode feeds.
  lesson_20::llama_forward(w, cache, b, int(T - 1), nullptr);
  const int32_t last = prompt.back(), place = int32_t(T - 1);
  CUDA_CHECK(cudaMemcpy(b.token.raw(), &last, sizeof last, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(b.position.raw(), &place, sizeof place, cudaMemcpyHostToDevice));
  Tensor ids = device_tensor({steps}, DType::i32), count = device_tensor({1}, DType::i32);
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreate(&stream));
  const double start = now();
  const std::vector<int32_t> made = lesson_20::decode(w, cache, b, ids, count, int(steps), stream);
  const double seconds = now() - start;
  CUDA_CHECK(cudaStreamDestroy(stream));

  fmt::print("{} ...{}\n\n", text, words->decode(made));
  fmt::print("{} tokens, {} bytes back from the device for all of them\n", made.size(), made.size() * sizeof(int32_t));
  fmt::print("the logits of each step, {} bytes, stayed there\n", c.vocab_size * int64_t(sizeof(float)));
  fmt::print("\ntime of one token, in the emulator on this CPU: {:.1f} ms\n", 1e3 * seconds / double(steps));
}
