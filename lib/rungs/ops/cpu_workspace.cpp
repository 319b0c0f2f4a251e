#include "rungs/ops/cpu_workspace.hpp"

#include "rungs/ops/cpu_parts.hpp"
#include "rungs/ops/dot.hpp"
#include "rungs/ops/matrix.hpp"

namespace rungs {

int threads_of_cpu() { return omp_get_max_threads(); }

LinearWorkspace linear_workspace(int64_t N, int64_t K, int64_t C, DType weight) {
  if (K == 0 || C == 0) return {};
  LinearWorkspace bytes;
  if (N <= small_batch_rows(weight)) {
    bytes.arranged = N * arranged_floats(C, weight) * int64_t(sizeof(float));
    return bytes;
  }
  const bool narrow = weight != DType::f32;
  const int64_t rows = narrow ? std::min(K, upcast_rows(C)) : K;  // of the weight, in one product
  if (narrow) bytes.upcast = rows * C * int64_t(sizeof(float));   // what is never written takes no memory

  // Eigen's own choice of blocks. Several threads share one copy of all rows of the weight, as deep as a block; each
  // has a block of x for itself. One thread alone keeps both to the size of a block.
  const bool threads = worth_threads_in_product(N, C, rows);
  const Eigen::Index T = threads ? threads_of_cpu() : 1;
  Eigen::Index depth = C, m = rows, n = N;
  Eigen::internal::computeProductBlockingSizes<float, float>(depth, m, n, T);
  bytes.packed = int64_t(sizeof(float)) * depth * ((T > 1 ? rows : m) + T * n);
  return bytes;
}

int64_t attention_workspace(int64_t N, int64_t S, int64_t H, int64_t D) {
  const int64_t one = chunks_of_keys(S) * H * room_of_chunk(D);
  const bool threads = worth_threads_in_attention(N, S, H * D);
  const int64_t many = N > 1 ? room_of_scores(S) * (threads ? threads_of_cpu() : 1) : 0;
  return int64_t(sizeof(float)) * std::max(one, many);
}

}  // namespace rungs
