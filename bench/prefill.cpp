// How fast a prompt is read, beside Eigen's own products of the same sizes.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "benchmark.hpp"
#include "folder.hpp"
#include "rungs/model/model.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/ops/matrix.hpp"

using namespace rungs;

namespace {

constexpr int64_t T = 512;
constexpr int runs = 9;

/// out (rows, columns) = x (rows, inner) · weight (columns, inner)ᵀ, so many times in one forward pass.
struct Product {
  const char* name;
  int64_t rows, inner, columns, times;
  double flops() const { return 2.0 * double(rows) * double(inner) * double(columns) * double(times); }
};

double seconds_of(const std::function<void()>& work) {
  const double start = now();
  work();
  return now() - start;
}

}  // namespace

int main(int argc, char** argv) try {
  Benchmark benchmark("prefill", "how fast a prompt of 512 tokens is read, beside Eigen's own products");
  benchmark.read(argc, argv);
  Config c = *preset("stories110M");
  c.num_layers = 4;  // of 12: each costs the same
  const Folder folder;
  save_random_llama(folder.path, c, DType::f32, 1);
  CpuOps ops;
  const auto model = load_model(ops, folder.path, {.max_rows = T});
  KvCache cache(ops, c, 1, T);
  Tensor logits = ops.allocate({1, c.vocab_size});
  Batch batch;
  std::vector<int32_t> tokens;
  for (int32_t t = 0; t < T; ++t) tokens.push_back(t * 7 % int32_t(c.vocab_size));
  batch.add(0, tokens, 0, /*only_last=*/true);

  const int64_t heads = c.num_heads * c.num_layers;
  const std::vector<Product> products = {{"q, k, v, o", T, c.hidden_size, c.hidden_size, 4 * c.num_layers},
                                         {"gate, up", T, c.hidden_size, c.intermediate_size, 2 * c.num_layers},
                                         {"down", T, c.intermediate_size, c.hidden_size, c.num_layers},
                                         {"scores of a head", T, c.head_dim, T, heads},
                                         {"times v of a head", T, T, c.head_dim, heads}};
  // A query sees the keys up to itself: what a full square would compute beyond counts for Eigen, not for the model.
  double eigen_flops = 0, model_flops = 2.0 * double(c.hidden_size * c.vocab_size);  // the last row's logits
  for (const Product& p : products) {
    eigen_flops += p.flops();
    const bool triangle = std::string_view(p.name).ends_with("of a head");
    model_flops += triangle ? p.flops() * double(T + 1) / double(2 * T) : p.flops();
  }

  // Turn by turn, so that both meet the same machine.
  std::vector<std::vector<double>> eigen_seconds(products.size());
  std::vector<double> model_seconds, shares;
  const int threads = omp_get_max_threads();
  for (int run = 0; run < runs; ++run) {
    model_seconds.push_back(seconds_of([&] { model->forward(logits, batch, &cache); }));
    double eigen_total = 0;
    Eigen::setNbThreads(0);  // as many as OpenMP has
    for (size_t i = 0; i < products.size(); ++i) {
      const Product& p = products[i];
      static Matrix x, w, out;
      x.setConstant(p.rows, p.inner, 0.5f), w.setConstant(p.columns, p.inner, 0.25f), out.setZero(p.rows, p.columns);
      const double seconds = seconds_of([&] { out.noalias() = x * w.transpose(); });
      eigen_seconds[i].push_back(seconds);
      eigen_total += seconds * double(p.times);
    }
    shares.push_back(model_flops / model_seconds.back() / (eigen_flops / eigen_total));
  }

  fmt::print("{}, {} threads\na LLaMA of width {}, {} heads, inner width {}, {} layers, in f32; {} tokens at once\n\n",
             machine(), threads, c.hidden_size, c.num_heads, c.intermediate_size, c.num_layers, T);
  fmt::print("{:<28}  {:>16}  {:>6}  {:>8}  {:>8}\n", "Eigen's own products", "size", "times", "ms each", "GFLOP/s");
  nlohmann::ordered_json sizes;
  double eigen_total = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    const Product& p = products[i];
    const double seconds = median(eigen_seconds[i]), speed = p.flops() / double(p.times) / seconds * 1e-9;
    eigen_total += seconds * double(p.times);
    fmt::print("{:<28}  {:>16}  {:>6}  {:>8.2f}  {:>8.1f}\n", p.name,
               fmt::format("{}x{}x{}", p.rows, p.inner, p.columns), p.times, seconds * 1e3, speed);
    sizes[p.name] = {{"rows", p.rows}, {"inner", p.inner}, {"columns", p.columns}, {"gflops", speed}};
  }
  const double eigen_speed = eigen_flops / eigen_total * 1e-9;
  const double model_speed = model_flops / median(model_seconds) * 1e-9, share = median(shares);
  fmt::print("{:<28}  {:>16}  {:>6}  {:>8.2f}  {:>8.1f}\n", "together", "", "", eigen_total * 1e3, eigen_speed);
  fmt::print("{:<28}  {:>16}  {:>6}  {:>8.2f}  {:>8.1f}\n\n", "the model's prefill", "", "",
             median(model_seconds) * 1e3, model_speed);
  fmt::print("prefill reaches {:.0f}% of Eigen's own products (wanted: at least 85%); {:.0f} tokens a second\n",
             100 * share, double(T) / median(model_seconds));
  benchmark.write({{"threads", threads},
                   {"tokens", T},
                   {"width", c.hidden_size},
                   {"heads", c.num_heads},
                   {"intermediate_size", c.intermediate_size},
                   {"layers", c.num_layers},
                   {"eigen_products", sizes},
                   {"eigen_gflops", eigen_speed},
                   {"prefill_gflops", model_speed},
                   {"prefill_milliseconds", median(model_seconds) * 1e3},
                   {"share", share},
                   {"runs", runs}});
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "prefill: {}\n", e.what());
  return 1;
}
