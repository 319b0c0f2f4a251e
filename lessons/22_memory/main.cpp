// Lesson 22: what Llama 3 8B needs, and how many requests it can serve at a time, on paper.
#include <fmt/format.h>

#include <map>

#include "lesson.hpp"
#include "rungs/base/units.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/tensor/tap.hpp"

using namespace lesson_22;

constexpr int64_t memory = int64_t(80) << 30;   // of one GPU
constexpr int64_t weight = 2, element = 2;      // bytes: bf16
using Counts = std::map<std::string, int64_t>;  // of each part

/// The parts that `count` taps.
static Counts parts_of(const Config& c, int64_t count(const Config&)) {
  Counts parts;
  watch_taps([&](const std::string& name, const Tensor& n) { parts[name] = n.at<int64_t>(); });
  parts["all"] = count(c);
  watch_taps({});
  parts["tables"] += parts["embedding"] + parts["output"];  // the course's are one part
  return parts;
}

int main() {
  const Config c = *preset("Llama-3-8B");
  fmt::print("Llama-3-8B: L {}, H {}, G {}, D {}, C {}, F {}, V {}\n\n", c.num_layers, c.num_heads, c.num_kv_heads,
             c.head_dim, c.hidden_size, c.intermediate_size, c.vocab_size);

  // Part by part: where the two ways to count differ.
  Counts exact = parts_of(c, parameters), course = parts_of(c, course_parameters);
  fmt::print("{:<14}{:>16}{:>16}\n", "parameters", "course", "exact");
  for (const char* part : {"tables", "attention", "feed_forward", "norms", "all"})
    fmt::print("{:<14}{:>16}{:>16}\n", part, with_commas(course[part]), with_commas(exact[part]));
  const int64_t course_bytes = course["all"] * weight, exact_bytes = exact["all"] * weight;
  fmt::print("{:<14}{:>16.3f}{:>16.3f}\n\n", "GB in bf16", gigabytes(course_bytes), gigabytes(exact_bytes));

  // Longer requests, fewer of them.
  fmt::print("one GPU of 80 GB                                               largest batch\n");
  fmt::print("context   cache of a request                              GB  course   exact\n");
  for (const int64_t context : {1024, 2048, 4096}) {
    const int64_t cache = cache_bytes(c, context, element);
    const auto shown = fmt::format("2 * {} * {} * {} * {} * {} = {:>11}", c.num_layers, context, c.num_kv_heads,
                                   c.head_dim, element, with_commas(cache));
    fmt::print("{:>7}   {:<43}{:>7g}{:>8}{:>8}\n", context, shown, gigabytes(cache),
               largest_batch(memory, course_bytes, cache), largest_batch(memory, exact_bytes, cache));
  }

  // One model on several GPUs.
  const int64_t cache = cache_bytes(c, 1024, element);
  fmt::print("\n1024 tokens   course: GB on each GPU              exact: GB on each GPU\n");
  fmt::print("GPUs          parameters     cache   batch        parameters     cache   batch\n");
  for (const int64_t gpus : {1, 2, 4, 8, 16}) {
    const Share share = per_gpu(c, gpus, 1024, weight, element);
    fmt::print("{:<14}{:>10.3f}{:>10g}{:>8}        {:>10.3f}{:>10g}{:>8}\n", gpus, gigabytes(course_bytes / gpus),
               gigabytes(cache / gpus), largest_batch(memory, course_bytes / gpus, cache / gpus),
               gigabytes(share.parameter_bytes), gigabytes(share.cache_bytes),
               largest_batch(memory, share.parameter_bytes, share.cache_bytes));
  }

  // Other shapes: the course's formula does not miss the same share of each.
  fmt::print("\n{:<13}{:>15}{:>15}{:>8}{:>10}{:>15}\n", "model", "course", "exact", "share", "GB, bf16",
             "bytes a token");
  for (const char* name : {"TinyLlama", "Llama-3.2-1B", "Llama-3.2-3B", "Llama-2-7B", "Llama-3-8B", "Llama-3-70B"}) {
    const Config m = *preset(name);
    fmt::print("{:<13}{:>15}{:>15}{:>7.1f}%{:>10.3f}{:>15}\n", name, with_commas(course_parameters(m)),
               with_commas(parameters(m)), 100.0 * double(course_parameters(m)) / double(parameters(m)),
               gigabytes(parameters(m) * weight), with_commas(cache_bytes(m, 1, element)));
  }

  // A batch of requests of 2048 tokens, in bytes.
  fmt::print("\nbatch   GB in all, Llama-3-8B, 2048 tokens each\n");
  for (const int64_t batch : {1, 8, 16, 260, 261})
    fmt::print("{:>5}{:>12.3f}\n", batch, gigabytes(batch_bytes(exact_bytes, cache_bytes(c, 2048, element), batch)));
}
