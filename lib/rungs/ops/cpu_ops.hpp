/// The backend of the CPU: Highway and Eigen for the arithmetic, OpenMP for the threads.
#pragma once

#include <vector>

#include "rungs/ops/backend.hpp"

namespace rungs {

struct SdpaSizes;
struct TokenRows;
enum class ProductWay;

/// Device, operations and steps on this machine, with several threads where there is enough work.
class CpuOps : public Device, public Ops, public Steps {
 public:
  CpuOps() : Steps(static_cast<Ops&>(*this)) {}
  operator Backend() { return {*this, *this, *this}; }

  Tensor allocate(const Shape& shape, DType dtype = DType::f32) override;
  void upload(Tensor& device, const void* host) override;
  void download(void* host, const Tensor& device) override;
  void upload_weights(ConstTensor&) override {}
  ConstTensor pack_weights(std::initializer_list<ConstTensor*>) override { return {}; }
  std::optional<int64_t> free_memory() override { return {}; }

  void copy(Tensor& out, const Tensor& x) override;
  void embedding(Tensor& out, const Tensor& table, const Tensor& index) override;
  void linear(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) override;
  void layer_norm(Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) override;
  void rms_norm(Tensor& out, const Tensor& x, const Tensor& weight, float epsilon) override;
  void apply_rope(Tensor& x, const RopeTables& rope, const Tensor& position) override;
  void relu(Tensor& x) override;
  void silu_mul(Tensor& gate, const Tensor& up) override;
  void add(Tensor& x, const Tensor& y) override;
  void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
            const AttentionOptions& options = {}) override;
  void attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Rows& rows, LayerCache* cache,
                 const AttentionOptions& options = {}) override;

  void norm_qkv(const Qkv& out, Tensor& scratch, const Tensor& x, const NormRef& norm, const QkvWeights& w,
                const RopeTables& rope, const Rows& rows) override;
  void norm_swiglu(Tensor& out, Tensor& scratch_up, Tensor& scratch, const Tensor& x, const NormRef& norm,
                   const GateUpWeights& w) override;

 private:
  ConstTensor arranged(ProductWay way, const Tensor& x, const Tensor& weight);
  void sdpa_one(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const TokenRows& tokens,
                const SdpaSizes& sizes, const AttentionOptions& options);
  void sdpa_many(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const SdpaSizes& sizes,
                 const AttentionOptions& options);

  void paged_attention(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Segment& segment,
                       LayerCache& cache, const AttentionOptions& options, bool ask_ahead);

  Tensor scores_;    // see sdpa_one; else for each thread room_of_rows()
  Tensor arranged_;  // x in the order in which a product reads it, where that is another
  Tensor upcast_;    // as f32, for each thread: keys or values of a cache in fewer bits
  Tensor k_, v_;     // those of one sequence, collected from their blocks, (S, G, D)
};

/// From now on every operation of this thread's CpuOps takes up to n threads; otherwise as many as there are
/// processors, or as OMP_NUM_THREADS says.
void use_threads(int n);

}  // namespace rungs
