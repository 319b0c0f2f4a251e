// Whole models with random weights: one token after the other beside the bandwidth of reading, and a long prompt beside
// PyTorch.
#include <fmt/format.h>
#include <sys/mman.h>

#include "bench.hpp"
#include "kernels/backend/cuda_ops.hpp"
#include "rungs/measure/measure.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/llama_layout.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"
#include "rungs/ops/processor.hpp"

namespace rungs::bench {

namespace {

/// Addresses that stand for weights which no host memory holds.
struct Addresses {
  size_t bytes;
  char* begin;
  explicit Addresses(size_t size)
      : bytes(size),
        begin(static_cast<char*>(mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    if (begin == MAP_FAILED) throw Error(fmt::format("no {} addresses are left", size));
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() { munmap(begin, bytes); }
  bool hold(const void* at) const { return at >= begin && at < begin + bytes; }
};

/// The operations that are measured; what is uploaded from those addresses becomes random on the device.
struct RandomOps : CudaOps {
  explicit RandomOps(const Addresses& weights) : weights_(weights) {}
  void upload(Tensor& device, const void* host) override {
    if (!weights_.hold(host)) return CudaOps::upload(device, host);
    const bool norm = device.shape().rank() == 1;
    const float middle = norm ? 1 : 0, spread = norm ? 0.1f : std::sqrt(3.0f / float(device.cols()));
    const auto fill = [&](auto* out) {
      fill_uniform(out, size_t(device.count()), uint64_t(++seed_) << 40, middle, spread, stream_);
    };
    device.dtype() == DType::bf16 ? fill(device.data<bf16>()) : fill(device.data<float>());
  }

 private:
  const Addresses& weights_;
  int seed_ = 0;
};

/// One model and what is wanted of it.
struct Shape {
  std::string name;
  DType dtype;
  int64_t prompt, context;      // tokens
  int steps;                    // of decoding in one batch
  std::string decode, prefill;  // shares that are wanted
};

struct Weights {
  size_t all = 0, every_step = 0;  // bytes; of a step the embedding is one row only, unless it is the output, too
  double every_row = 0;            // elements that each row of a prompt is multiplied with
};

Weights weigh(const Config& c, DType dtype) {
  Weights w;
  for (const auto& [name, shape] : llama_tensors(c)) {
    const size_t bytes = size_t(shape.count()) * bytes_of(dtype);
    const bool embedding = name.find("embed_tokens") != std::string::npos;
    w.all += bytes;
    if (!embedding || c.tied) w.every_step += bytes;
    if (shape.rank() == 2 && !embedding && name.find("lm_head") == std::string::npos)
      w.every_row += double(shape.count());
  }
  return w;
}

Config config_of(const Shape& shape) {
  Config c;
  if (shape.name == "tiny") {
    c = *preset("stories15M");
    c.hidden_size = 64, c.num_heads = 4, c.num_kv_heads = 2, c.head_dim = 16, c.intermediate_size = 96,
    c.num_layers = 2, c.vocab_size = 301;
  } else {
    c = *preset(shape.name);
  }
  c.max_seq_len = shape.context;
  return c;
}

/// A model on the device, and the calls that are measured.
struct Running {
  Config config;
  Weights bytes;
  Addresses addresses;
  RandomOps ops{addresses};
  std::unique_ptr<Llama> model;
  KvCache cache;
  Tensor logits;
  std::vector<int32_t> tokens;

  explicit Running(const Shape& shape)
      : config(config_of(shape)), bytes(weigh(config, shape.dtype)), addresses(bytes.all + 4096) {
    TensorSet set(shape.name);
    const char* at = addresses.begin;
    for (const auto& [name, dims] : llama_tensors(config)) {
      ConstTensor tensor = Tensor::view_of(at, dims, shape.dtype);
      at += tensor.bytes();
      set.add(name, std::move(tensor), shape.name);
    }
    const LoadOptions options{.max_rows = shape.prompt, .context = 0, .sequences = 1, .capacity = shape.context};
    model = std::make_unique<Llama>(ops, LlamaCheckpoint(config, std::move(set)), options);
    cache = KvCache(ops, config, 1, shape.context);
    logits = ops.allocate({1, config.vocab_size});
    for (int64_t t = 0; t < shape.context; ++t) tokens.push_back(int32_t(t * 7919 % config.vocab_size));
  }

  /// Tokens [first, first + count), and the logits of the last.
  void forward(int64_t first, int64_t count) {
    Batch batch;
    batch.add(0, std::span(tokens).subspan(size_t(first), size_t(count)), first, /*only_last=*/true);
    model->forward(logits, batch, &cache);
  }
  int32_t chosen() {
    int32_t token = 0;
    const double draw = 0;
    ops.sample(std::span(&token, 1), logits, {}, std::span(&draw, 1));
    return token;
  }
  std::vector<float> downloaded() {
    std::vector<float> host(size_t(config.vocab_size));
    ops.download(host.data(), logits);
    return host;
  }
  void poison() {
    const std::vector<float> nothing(size_t(config.vocab_size), NAN);
    ops.upload(logits, nothing.data());
  }
};

/// Prefill and decoding take different kernels; both must give the same logits for the token at `last`, to a share of
/// the largest.
double disagreement(Running& r, int64_t last, double share) {
  r.poison();
  r.forward(0, last + 1);
  const std::vector<float> at_once = r.downloaded();
  r.forward(0, last);
  Worst worst;
  double largest = 0;
  for (const float x : at_once) largest = std::max(largest, double(std::abs(x)));
  for (int again = 0; again < 3; ++again) {  // the first call, the one that is captured, and the graph
    r.poison();
    r.forward(last, 1);
    const std::vector<float> step = r.downloaded();
    for (size_t i = 0; i < step.size(); ++i) worst.compare(step[i], at_once[i], share * largest);
  }
  return worst.fraction;
}

double elapsed(const std::function<void()>& work) {
  const double start = now();
  work();
  return now() - start;
}

void measure_model(Bench& bench, const Shape& shape, double torch_milliseconds) {
  bench.within(90, shape.name);
  Running r(shape);
  const Config& c = r.config;
  const int repeats = bench.options().tiny || !on_gpu ? 1 : 9;
  const auto fault_of_both = [&] {  // with exact products, and with x rounded to bf16 beside bf16 weights
    const int64_t last = std::min<int64_t>(16, shape.prompt - 1);
    const double rounded = disagreement(r, last, 0.05);
    use_exact_products();
    const double exact = disagreement(r, last, 1e-3);
    use_exact_products(false);
    return std::max(rounded, exact);
  };
  double fault = fault_of_both();

  const auto seconds_of_prompt = [&] {
    std::vector<double> seconds;
    for (int i = 0; i < (on_gpu ? 5 : 1); ++i)
      seconds.push_back(elapsed([&] {
        r.forward(0, shape.prompt);
        r.chosen();
      }));
    return median(seconds);
  };
  const double prefill = seconds_of_prompt();
  use_exact_products();
  const double exact_prefill = seconds_of_prompt();
  use_exact_products(false);
  std::vector<double> step_seconds;
  int64_t position = shape.prompt;
  double cache_bytes = 0;
  for (int i = 0; i < repeats; ++i)
    step_seconds.push_back(elapsed([&] {
                             for (int s = 0; s < shape.steps; ++s, ++position) {
                               r.tokens[size_t(position)] = r.chosen();
                               r.forward(position, 1);
                               cache_bytes +=
                                   8.0 * double(c.num_layers * c.num_kv_heads * c.head_dim) * double(position + 1);
                             }
                             r.chosen();
                           }) /
                           shape.steps);
  fault = std::max(fault, fault_of_both());

  const double T = double(shape.prompt);
  const double flop = 2 * r.bytes.every_row * T + 2.0 * double(c.num_layers * c.num_heads * c.head_dim) * T * (T + 1);
  const std::string what = fmt::format("{}, {}", shape.name, name_of(shape.dtype));
  bench.ladder("decode", what + ", one sequence", Unit::byte, bench.read_bandwidth, "reading");
  const double step = median(step_seconds);
  bench.line(fmt::format("a token at {} to {}", shape.prompt, position - 1), step * 1e3,
             double(r.bytes.every_step) + cache_bytes / (repeats * shape.steps), fault, shape.decode,
             {{"tokens_per_second", 1 / step}});
  bench.ladder("prefill", what, Unit::flop, torch_milliseconds > 0 ? flop / torch_milliseconds * 1e3 : 0,
               "PyTorch on the same GPU");
  bench.line(fmt::format("{} tokens", shape.prompt), prefill * 1e3, flop, fault, shape.prefill,
             {{"tokens_per_second", T / prefill}});
  if (shape.dtype == DType::bf16)
    bench.line(fmt::format("{} tokens, exact products", shape.prompt), exact_prefill * 1e3, flop, fault, "",
               {{"tokens_per_second", T / exact_prefill}});
}

}  // namespace

void measure_models(Bench& bench) {
  std::vector<Shape> shapes;
  if (bench.options().tiny)
    shapes = {{"tiny", DType::f32, 9, 32, 3, "", ""}, {"tiny", DType::bf16, 9, 32, 3, "", ""}};
  else if (!on_gpu)
    shapes = {{"stories15M", DType::f32, 5, 32, 4, "", ""}};
  else
    shapes = {{"stories15M", DType::f32, 64, 256, 16, "", ""},
              {"stories110M", DType::bf16, 512, 1024, 16, "", ""},
              {"1b", DType::bf16, 2048, 2304, 16, "65% (78%)", ""},
              {"8b", DType::bf16, 2048, 2304, 16, "85% (92%)", "45% (80%)"}};
  for (const Shape& shape : shapes) {
    if (!bench.wants("model " + shape.name)) continue;
    try {
      const auto torch = bench.options().torch_milliseconds.find(shape.name);
      measure_model(bench, shape, torch == bench.options().torch_milliseconds.end() ? 0 : torch->second);
    } catch (const std::exception& e) {
      bench.failed("model " + shape.name, e.what());
    }
  }
}

}  // namespace rungs::bench
