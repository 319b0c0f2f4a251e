// Every launcher at the shapes of models that people run, on the GPU that RUNGS_DEVICE names: a kernel that would not
// start there is an error. Their arithmetic would take hours here, so these are dry runs.
#include <sys/mman.h>

#include <set>

#include "devices.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/backend/add_bias.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/emulator/engine/device.hpp"
#include "kernels/emulator/engine/dry_run.hpp"
#include "kernels/emulator/engine/kernel_info.hpp"
#include "kernels/gemv/gemv.hpp"
#include "kernels/layer_norm/layer_norm.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/rms_norm/rms_norm.hpp"
#include "kernels/silu_mul/silu_mul.hpp"
#include "kernels/softmax/softmax.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/llama_layout.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/tensor/tap.hpp"

namespace rungs::test {
namespace {

/// The host's side of a checkpoint: addresses alone, the same for each tensor.
class Checkpoint {
 public:
  explicit Checkpoint(const Config& config) : config_(config) {
    bytes_ = size_t(config.vocab_size * std::max(config.hidden_size, config.intermediate_size)) * sizeof(float);
    memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
  }
  ~Checkpoint() { munmap(memory_, bytes_); }
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  LlamaCheckpoint in(DType dtype) const {
    TensorSet tensors(config_.directory);
    for (const auto& [name, shape] : llama_tensors(config_))
      tensors.add(name, Tensor::view_of(memory_, shape, dtype), config_.directory);
    return LlamaCheckpoint(config_, std::move(tensors));
  }

 private:
  Config config_;
  size_t bytes_;
  void* memory_;
};

/// A cache for `sequences` sequences as long as the context, in blocks.
KvCache paged_cache(Device& device, const Config& c, int sequences) {
  const Paging paging{.blocks = sequences * c.max_seq_len / 16, .block_size = 16};
  KvCache cache(device, c, sequences, paging);
  for (int32_t block = 0; block < paging.blocks; ++block) cache.tables[size_t(block % sequences)].push_back(block);
  return cache;
}

/// `rows` tokens of each of `sequences` sequences, the last ones that the context has room for.
Batch last_tokens(const Config& c, int sequences, int64_t rows) {
  Batch batch;
  const std::vector<int32_t> tokens(size_t(rows), 1);
  for (int s = 0; s < sequences; ++s) batch.add(s, tokens, c.max_seq_len - rows, true);
  return batch;
}

/// Prompts from a few tokens to `longest`, with each cache and with none; decoding of one sequence to more than gemv
/// takes, as it is and as a graph; a prompt beside sequences that are decoded; steps whose taps are watched.
void run_model(CudaDevice& ops, const Config& c, LlamaCheckpoint checkpoint, std::vector<KvCache> caches,
               int64_t longest) {
  constexpr int sequences = 40;
  Llama model(ops, std::move(checkpoint), {.max_rows = longest});
  Tensor logits = ops.allocate({sequences, c.vocab_size});
  const auto forward = [&](const Batch& batch, KvCache* cache) {
    Tensor wanted = logits.view_rows(0, int64_t(batch.logit_rows.size()));
    model.forward(wanted, batch, cache);
  };
  for (KvCache& cache : caches) {
    for (const int64_t rows : {int64_t(5), int64_t(100), longest}) forward(last_tokens(c, 1, rows), &cache);
    for (const int decoded : {1, 2, 4, 8, sequences})
      for (int step = 0; step < 3; ++step) forward(last_tokens(c, decoded, 1), &cache);
    Batch mixed = last_tokens(c, 20, 1);
    mixed.add(20, std::vector<int32_t>(300, 1), 0, true);
    forward(mixed, &cache);
  }
  Batch whole;
  whole.add(0, std::vector<int32_t>(size_t(longest), 1), 0, true);
  forward(whole, nullptr);
  watch_taps([](const std::string&, const Tensor&) {});
  for (const int64_t rows : {1, 9}) forward(last_tokens(c, 1, rows), &caches[0]);
  watch_taps({});
}

/// Every rung that takes a weight of type W, for N rows of a model.
template <class W>
void run_rungs_of(const Config& c, int N, void* memory) {
  const int C = int(c.hidden_size), F = int(c.intermediate_size), V = int(c.vocab_size);
  const int H = int(c.num_heads), G = int(c.num_kv_heads), D = int(c.head_dim);
  float* const x = static_cast<float*>(memory);
  const W* const w = static_cast<const W*>(memory);
  bf16* const parts = static_cast<bf16*>(memory);
  const int* const index = static_cast<const int*>(memory);
  for (const auto& [K, in] : {std::pair{(H + 2 * G) * D, C}, {C, H * D}, {F, C}, {2 * F, C}, {C, F}, {V, C}}) {
    for (const auto gemv : {gemv_01<W>, gemv_02<W>, gemv_03<W>, gemv_04<W>, gemv_add<W>})
      gemv(x, x, w, N, K, in, nullptr);
    matmul_05_transposed(x, x, w, N, K, in, nullptr);
  }
  gemv_norm_qkv(GemvQkv<W>{x, x, x, w, w, w, w, 1e-5f}, x, N, H * D, G * D, C, nullptr);
  gemv_norm_swiglu(x, x, w, 1e-5f, w, w, N, F, C, nullptr);
  for (const auto norm : {rms_norm_01<W>, rms_norm_02<W>, rms_norm_03<W>}) norm(x, x, w, N, C, 1e-5f, nullptr);
  rms_norm_split(parts, x, w, N, C, 1e-5f, 2, nullptr);
  for (const auto embedding : {embedding_01<W>, embedding_02<W>}) embedding(x, w, index, N, C, nullptr);
}

/// Every other rung, for N rows of a model that have its whole context as their past.
void run_rungs(const Config& c, int N, void* memory) {
  const int C = int(c.hidden_size), F = int(c.intermediate_size), V = int(c.vocab_size), S = int(c.max_seq_len);
  const int H = int(c.num_heads), G = int(c.num_kv_heads), D = int(c.head_dim);
  float* const x = static_cast<float*>(memory);
  bf16* const half = static_cast<bf16*>(memory);
  int* const index = static_cast<int*>(memory);
  for (const auto& [K, in] : {std::pair{(H + 2 * G) * D, C}, {C, H * D}, {F, C}, {2 * F, C}, {C, F}, {V, C}}) {
    gemv_int8(x, x, static_cast<const int8_t*>(memory), x, N, K, in, nullptr);
    for (const auto matmul : {matmul_01, matmul_02, matmul_03, matmul_04, matmul_05})
      matmul(x, x, x, N, K, in, nullptr);
    matmul_06(x, half, half, N, K, in, nullptr);
    for (const int parts : {1, 2}) matmul_07(x, half, half, N, K, in, parts, nullptr);
    split_bf16(half, x, N, in, 2, nullptr);
    add_bias(x, x, N, K, nullptr);
  }
  for (const auto norm : {layer_norm_01, layer_norm_02}) norm(x, x, x, x, N, C, 1e-5f, nullptr);
  for (const int width : {C, F, V, S})
    for (const auto softmax : {softmax_01, softmax_02, softmax_03}) softmax(x, x, N, width, nullptr);
  for (const auto add : {add_01, add_02}) add(x, x, int64_t(N) * C, nullptr);
  for (const auto relu : {relu_01, relu_02}) relu(x, int64_t(N) * F, nullptr);
  for (const auto silu_mul : {silu_mul_01, silu_mul_02}) silu_mul(x, x, int64_t(N) * F, nullptr);
  silu_mul_packed(x, x, N, F, nullptr);

  const Draw* const draw = static_cast<const Draw*>(memory);
  argmax_01(index, x, N, V, nullptr);
  argmax_02(index, x, memory, N, V, nullptr);
  for (const auto top_p : {top_p_01, top_p_02}) top_p(index, x, draw, memory, N, V, nullptr);

  const RopePointers rotary{x, x};
  const CacheRows cache{x, x, index, index, S}, paged{x, x, index, index, 16, index, index};
  rope_01(x, rotary, index, N, H, D, nullptr);
  for (const CacheRows& rows : {cache, paged}) {
    rope_02_append(x, rows, x, x, rotary, N, H, G, D, nullptr);
    rope_02_append_qkv(x, rows, x, rotary, N, H, G, D, nullptr);
    append_01(rows, x, x, N, G, D, nullptr);
    collect_01(x, x, rows, 0, S, G, D, nullptr);
    attention_04(x, x, rows, x, N, S, H, G, D, nullptr);
    attention_06(x, x, x, x, rows, rotary, x, static_cast<unsigned*>(memory), N, S, H, G, D, nullptr);
  }
  attention_01(x, x, x, x, x, N, S, H, G, D, nullptr);
  for (const auto attention : {attention_02, attention_03, attention_05, attention_05_rounded})
    attention(x, x, x, x, N, S, H, G, D, nullptr);
}

Config stories() { return load_config(weights_directory() / "stories"); }

/// The dry runs so far launched this one.
bool was_launched(std::string_view name) {
  for (const emulator::LargestBlock& block : emulator::largest_blocks())
    if (block.kernel == name) return block.dry_threads > 0;
  return false;
}

/// The kernels of which the dry runs so far launched no instantiation, each with a space; without the tests' own.
std::string never_launched() {
  std::set<std::string> all, launched;
  for (const emulator::LargestBlock& block : emulator::largest_blocks()) {
    const std::string name = block.kernel.substr(0, block.kernel.find('<'));
    if (!name.starts_with("test::")) (block.dry_threads > 0 ? launched : all).insert(name);
  }
  std::string list;
  for (const std::string& name : all)
    if (!launched.count(name)) list += name + " ";
  return list;
}

}  // namespace

TEST_SUITE_BEGIN("kernels_host");

TEST_CASE("every launcher starts at the shapes of Llama 3 8B and 3.2 1B and stories") {
  const emulator::DryRun dry;
  const Tensor memory = device_tensor({int64_t(1) << 40});
  for (const Config& c : {*preset("Llama-3-8B"), *preset("Llama-3.2-1B"), stories()}) {
    CAPTURE(c.directory.string());
    const Checkpoint checkpoint(c);
    for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
      CAPTURE(name_of(dtype));
      CudaOps ops;
      NaiveCudaOps naive;
      std::vector<KvCache> caches;
      caches.emplace_back(naive, c, 40, c.max_seq_len);
      run_model(naive, c, checkpoint.in(dtype), std::move(caches), 512);
      caches.clear();
      caches.emplace_back(ops, c, 40, c.max_seq_len);
      caches.push_back(paged_cache(ops, c, 40));
      run_model(ops, c, checkpoint.in(dtype), std::move(caches), c.max_seq_len);
    }
    for (const int N : {1, 8, 9, 512}) {
      CAPTURE(N);
      run_rungs(c, N, const_cast<void*>(memory.raw()));
      run_rungs_of<float>(c, N, const_cast<void*>(memory.raw()));
      run_rungs_of<bf16>(c, N, const_cast<void*>(memory.raw()));
      run_rungs_of<f16>(c, N, const_cast<void*>(memory.raw()));
    }
  }
  CHECK(never_launched() == "");
  const size_t wide_tile = size_t(3) * 64 * (128 + 256) * 2;  // of matmul_07, in shared memory
  CHECK(was_launched("matmul_mma_sync<256, true>") == (emulator::device().shared_per_block >= wide_tile));
}

TEST_SUITE_END();

}  // namespace rungs::test
