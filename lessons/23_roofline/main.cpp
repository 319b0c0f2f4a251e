// Lesson 23: what attention and a whole model do for every byte they move, and how fast that can be at best.
#include <fmt/format.h>

#include "22_memory/lesson.hpp"
#include "lesson.hpp"
#include "rungs/analysis/roofline.hpp"
#include "rungs/base/units.hpp"
#include "rungs/measure/plot.hpp"
#include "rungs/model/presets.hpp"

using namespace rungs;
namespace lesson = lesson_23;

static void print_cost(const char* what, const lesson::Cost& cost) {
  fmt::print("{:<28}{:>16}{:>16}{:>14.3f}\n", what, with_commas(int64_t(cost.flops)), with_commas(int64_t(cost.bytes)),
             lesson::intensity(cost));
}

static std::vector<double> numbers(const Tensor& curve) { return {curve.data(), curve.data() + curve.count()}; }

static void print_line(const char* name, const std::vector<double>& values, int decimals) {
  fmt::print("{:<12}", name);
  for (const double value : values) fmt::print("{:>8.{}f}", value, decimals);
  fmt::print("\n");
}

/// One call of a model, and the least time that a device takes for it: under one roof for all, and by its parts.
static void print_call(const std::string& what, const Config& model, int64_t batch, int64_t rows, int64_t past,
                       const DevicePeak& gpu) {
  const lesson::ForwardCost cost = lesson::forward(model, batch, rows, past, 2);
  const lesson::Cost total = cost.total();
  const double one_roof = total.flops / lesson::attainable(lesson::intensity(total), gpu.bandwidth, gpu.flops);
  const double by_parts = lesson::least_seconds(cost.parts(), gpu.bandwidth, gpu.flops);
  fmt::print("{:<28}{:>9.3f}{:>9.1f}{:>12.1f}{:>10.1f}{:>10.1f}{:>10.0f}\n", what, total.flops / 1e12,
             in_gib(total.bytes), lesson::intensity(total), 1e3 * one_roof, 1e3 * by_parts,
             double(batch * rows) / by_parts);
}

int main(int argc, char** argv) {
  constexpr int64_t N = 1024, d = 128, bytes = 2;
  fmt::print("{:<28}{:>16}{:>16}{:>14}\n", "one head over 1024 tokens", "FLOPs", "bytes", "FLOP/byte");
  print_cost("prefill", lesson::prefill_attention(N, d, bytes));
  print_cost("a step", lesson::decode_attention(N, d, 1, false, bytes));
  print_cost("a step of 64, own caches", lesson::decode_attention(N, d, 64, false, bytes));
  print_cost("a step of 64, one cache", lesson::decode_attention(N, d, 64, true, bytes));

  const std::vector<int64_t> contexts{64, 128, 256, 512, 1024, 2048, 4096, 8192}, batches{1, 2, 4, 8, 16, 32, 64, 128};
  const std::vector<double> tokens(contexts.begin(), contexts.end()), requests(batches.begin(), batches.end());
  Tensor prefill({8}), own({8}), shared({8});  // (point)
  lesson::prefill_curve(prefill, contexts, d, bytes);
  lesson::decode_curve(own, batches, N, d, false, bytes);
  lesson::decode_curve(shared, batches, N, d, true, bytes);
  fmt::print("\nFLOP/byte of prefill attention\n");
  print_line("context", tokens, 0);
  print_line("", numbers(prefill), 2);
  fmt::print("\nFLOP/byte of a step over 1024 tokens\n");
  print_line("batch", requests, 0);
  print_line("own caches", numbers(own), 2);
  print_line("one cache", numbers(shared), 2);

  const DevicePeak gpu = *named_device_peak("H100");
  fmt::print("\nLlama-3-8B on an H100: {:.2f} TB/s, {:.0f} TFLOP/s, ridge {:.1f} FLOP/byte\n", gpu.bandwidth / 1e12,
             gpu.flops / 1e12, lesson::ridge(gpu.bandwidth, gpu.flops));
  fmt::print("{:<28}{:>9}{:>9}{:>12}{:>10}{:>10}{:>10}\n", "least ms under", "TFLOP", "GiB", "FLOP/byte", "one roof",
             "five", "tokens/s");
  const Config model = *preset("Llama-3-8B");
  const int64_t most = lesson_22::largest_batch(80LL << 30, bytes * lesson_22::parameters(model),
                                                lesson_22::cache_bytes(model, N, bytes));  // in 80 GB
  print_call("a prompt of 1024", model, 1, N, 0, gpu);
  for (const int64_t batch : {int64_t(1), int64_t(8), int64_t(64), most})
    print_call(fmt::format("a step of {} behind 1023", batch), model, batch, 1, N - 1, gpu);
  if (argc > 1 && !has_gnuplot()) fmt::print(stderr, "23_roofline: no pictures: gnuplot is not installed\n");
  if (argc < 2 || !has_gnuplot()) return 0;
  const std::filesystem::path folder = argv[1];
  const Curve prompt{"", "#1f6fb4", tokens, numbers(prefill)};
  const Curve one{"one cache for all", "#1f6fb4", requests, numbers(shared)};
  const Curve each{"a cache each", "#d9822b", requests, numbers(own)};
  draw_picture(folder / "23_prefill.svg", "Prefill attention", {{"", "context, tokens", "FLOP/byte", {prompt}}});
  draw_picture(folder / "23_decode.svg", "A step of decoding", {{"", "batch, requests", "FLOP/byte", {one, each}}});
}
