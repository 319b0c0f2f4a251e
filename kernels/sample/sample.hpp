/// From logits to the next token without leaving the device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace rungs {

/// What argmax and top_p write where a logit is not finite: the host says which one.
inline constexpr int not_finite = -1;

/// How one row's token is chosen, and the number that chooses it: SampleOptions of lib/rungs/generate/sampler.hpp and a
/// draw. The caller has checked it.
struct Draw {
  double temperature;  ///< at least 0; 0: the largest logit
  double top_p;        ///< in (0, 1]
  double draw;         ///< in [0, 1)
  int top_k;           ///< 0: all
};

/// Bytes of workspace on the device, 16-byte aligned, that N rows need. It holds nothing between calls.
size_t sample_workspace(int N, int V);

/// \name The rungs: id[n] = the index of row n's largest logit, the lowest on a tie, or not_finite
/// id: (N); logits: (N, V). Device pointers. They run on `stream` and do not wait.
///@{
void argmax_01(int* id, const float* logits, int N, int V, cudaStream_t stream);  ///< one block per row
/// Many blocks per row leave a candidate each, one block per row takes the best.
void argmax_02(int* id, const float* logits, void* workspace, int N, int V, cudaStream_t stream);
///@}

/// \name The rungs: id[n] = the token that lib/rungs/generate/sampler.hpp's probabilities() and sample() choose, or
/// not_finite id: (N); logits: (N, V); draw: (N). Device pointers. They run on `stream` and do not wait. The same
/// arithmetic in the same precision; only sums over the vocabulary are taken in another order, so another token can be
/// chosen where the draw, or top_p, stands within about V·2⁻⁵³ of a running sum. The same input always gives the same
/// token.
///@{

/// One block per row; the least probable token that stays is found by bisection.
void top_p_01(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V, cudaStream_t stream);
/// Many blocks per row for the exponentials; the token is found by histograms with exact integer sums.
void top_p_02(int* id, const float* logits, const Draw* draw, void* workspace, int N, int V, cudaStream_t stream);
///@}

}  // namespace rungs
