/// The weights of the 2-layer decoder, by the names that they have in its file.
#pragma once

#include <vector>

#include "tensor/tensor.hpp"

namespace rungs {

/// y = x · weightᵀ + bias
struct LinearWeights {
  Tensor weight;  ///< (out, in)
  Tensor bias;    ///< (out)
};

/// y = (x - mean) / √(variance + epsilon) · weight + bias
struct NormWeights {
  Tensor weight, bias;  ///< (C)
};

/// One head of attention.
struct AttentionWeights {
  LinearWeights q, k, v;  ///< (D, C), (D)
  LinearWeights o;        ///< (C, D), (C)
};

/// One layer: attention, then the feed-forward, each behind a norm of its own.
struct LayerWeights {
  NormWeights attention_norm;
  AttentionWeights attention;
  NormWeights ffn_norm;
  LinearWeights up;    ///< (F, C), (F)
  LinearWeights down;  ///< (C, F), (C)
};

/// The whole model, as config.json and model.safetensors describe it.
struct DecoderWeights {
  Tensor token_embedding;     ///< (V, C)
  Tensor position_embedding;  ///< (context, C)
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  LinearWeights output;  ///< (V, C), (V)
  float epsilon = 0;     ///< of every LayerNorm
};

}  // namespace rungs
