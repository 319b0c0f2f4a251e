#include "rungs/ops/cpu_workspace.hpp"

#include "rungs/ops/cpu_parts.hpp"
#include "rungs/ops/dot.hpp"
#include "rungs/ops/packed_product.hpp"
#include "rungs/ops/tile_product.hpp"

namespace rungs {

int threads_of_cpu() { return omp_get_max_threads(); }

ProductWay product_way(int64_t N, int64_t C, DType weight) {
  if (takes_tiles(N, C, weight)) return ProductWay::tiles;
  return N <= small_batch_rows(weight) ? ProductWay::few_rows : ProductWay::packed;
}

int64_t floats_of_arranged(ProductWay way, int64_t N, int64_t C, DType weight) {
  if (way == ProductWay::tiles) return in_whole_tiles(N) * tiled_floats(C, weight);
  return N * (way == ProductWay::few_rows ? arranged_floats(N, C, weight) : floats_of_packed(C, weight));
}

int64_t linear_workspace(int64_t N, int64_t C, DType weight) {
  return floats_of_arranged(product_way(N, C, weight), N, C, weight) * int64_t(sizeof(float));
}

int64_t attention_workspace(int64_t N, int64_t S, int64_t H, int64_t D) {
  const int64_t one = chunks_of_keys(S) * H * room_of_chunk(D);
  const bool threads = worth_threads_in_attention(N, S, H * D);
  const int64_t many = N > 1 ? room_of_rows(D) * (threads ? threads_of_cpu() : 1) : 0;
  return int64_t(sizeof(float)) * std::max(one, many);
}

}  // namespace rungs
