// Lesson 22: what Llama 3 8B needs, and how many requests it can serve at a time, on paper.
#include <fmt/format.h>

#include <map>

#include "lesson.hpp"
#include "rungs/base/units.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/tensor/tap.hpp"

using namespace lesson_22;

constexpr int64_t memory = int64_t(80) << 30;  // of one GPU
constexpr int64_t weight = 2, element = 2;     // bytes: bf16

int main() {
  const Config c = *preset("Llama-3-8B");
  fmt::print("Llama-3-8B: L {}, H {}, G {}, D {}, C {}, F {}, V {}\n\n", c.num_layers, c.num_heads, c.num_kv_heads,
             c.head_dim, c.hidden_size, c.intermediate_size, c.vocab_size);

  std::map<std::string, int64_t> parts;
  watch_taps([&](const std::string& name, const Tensor& n) { parts[name] = n.at<int64_t>(); });
  const int64_t numbers = parameters(c), bytes = numbers * weight;
  watch_taps({});
  for (const char* part : {"embedding", "attention", "feed_forward", "norms", "output"})
    fmt::print("{:<14}{:>16}\n", part, with_commas(parts[part]));
  fmt::print("{:<14}{:>16}, {:.3f} GiB in bf16\n\n", "parameters", with_commas(numbers), gibibytes(bytes));

  // Longer requests, fewer of them.
  fmt::print("one GPU of 80 GiB                                             largest\n");
  fmt::print("context   cache of a request                             GiB    batch\n");
  for (const int64_t context : {1024, 2048, 4096}) {
    const int64_t cache = cache_bytes(c, context, element);
    const auto shown = fmt::format("2 * {} * {} * {} * {} * {} = {:>11}", c.num_layers, context, c.num_kv_heads,
                                   c.head_dim, element, with_commas(cache));
    fmt::print("{:>7}   {:<43}{:>7g}{:>8}\n", context, shown, gibibytes(cache), largest_batch(memory, bytes, cache));
  }

  // Fewer bits: a block of 32 numbers shares a scale.
  const int64_t cached = cache_bytes(c, 1024, 1);  // numbers
  fmt::print("\n1024 tokens   weights, GiB   cache, GiB   largest batch\n");
  for (const auto& [what, weights, cache] : {std::tuple("bf16", bytes, element * cached),
                                             {"int8", quantized_bytes(numbers, 8), quantized_bytes(cached, 8)},
                                             {"int4", quantized_bytes(numbers, 4), quantized_bytes(cached, 4)}})
    fmt::print("{:<14}{:>12.3f}{:>13.4f}{:>16}\n", what, gibibytes(weights), gibibytes(cache),
               largest_batch(memory, weights, cache));

  // What a call computes and forgets.
  fmt::print("\nGiB of a call             logits   workspace\n");
  for (const auto& [what, rows, wanted] : {std::tuple("a step of 1", 1, 1),
                                           {"a step of 520", 520, 520},
                                           {"a prompt of 8192", 8192, 1},
                                           {"and all its logits", 8192, 8192}})
    fmt::print("{:<22}{:>10.4f}{:>12.4f}\n", what, gibibytes(logits_bytes(c, wanted)),
               gibibytes(workspace_bytes(c, rows)));

  // Pages: a request of 1030 tokens.
  fmt::print("\npage, tokens   cache of 1030 tokens, MiB   wasted   largest batch\n");
  for (const int64_t page : {1, 16, 64, 256, 8192}) {
    const int64_t used = cache_bytes(c, 1030, element), held = paged_bytes(c, 1030, page, element);
    fmt::print("{:>12}{:>28.3f}{:>8.1f}%{:>16}\n", page, 1024 * gibibytes(held),
               100.0 * double(held - used) / double(held), largest_batch(memory, bytes, held));
  }

  // One model on several GPUs.
  fmt::print("\n1024 tokens   GiB on each GPU\nGPUs          parameters     cache   largest batch\n");
  for (const int64_t gpus : {1, 2, 4, 8, 16}) {
    const Share share = per_gpu(c, gpus, 1024, weight, element);
    fmt::print("{:<14}{:>10.3f}{:>10g}{:>16}\n", gpus, gibibytes(share.parameter_bytes), gibibytes(share.cache_bytes),
               largest_batch(memory, share.parameter_bytes, share.cache_bytes));
  }

  fmt::print("\n{:<13}{:>15}{:>12}{:>15}\n", "model", "parameters", "GiB, bf16", "bytes a token");
  for (const char* name : {"TinyLlama", "Llama-3.2-1B", "Llama-3.2-3B", "Llama-2-7B", "Llama-3-8B", "Llama-3-70B"}) {
    const Config m = *preset(name);
    fmt::print("{:<13}{:>15}{:>12.3f}{:>15}\n", name, with_commas(parameters(m)), gibibytes(parameters(m) * weight),
               with_commas(cache_bytes(m, 1, element)));
  }

  // A batch of requests of 2048 tokens, in bytes.
  fmt::print("\nbatch  GiB in all, Llama-3-8B, 2048 tokens each\n");
  for (const int64_t batch : {1, 8, 16, 260, 261})
    fmt::print("{:>5}{:>12.3f}\n", batch, gibibytes(batch_bytes(bytes, cache_bytes(c, 2048, element), batch)));
}
