/// The weights of the 2-layer decoder, by the names that they have in its file. What a model does not have is an empty
/// tensor: from lesson 9 to 13 biases, learned positions and the norms' shifts go, a gate and rotary angles come.
#pragma once

#include <vector>

#include "rungs/ops/ops.hpp"
#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// y = x · weightᵀ + bias
struct LinearWeights {
  ConstTensor weight;  ///< (out, in)
  ConstTensor bias;    ///< (out), or empty
};

/// y = (x - mean) / √(variance + epsilon) · weight + bias; or an RMSNorm, without a bias.
struct NormWeights {
  ConstTensor weight;  ///< (C)
  ConstTensor bias;    ///< (C), or empty
};

/// H query heads and G key/value heads of attention; up to lesson 8 there is one.
struct AttentionWeights {
  LinearWeights q;     ///< (H·D, C), (H·D)
  LinearWeights k, v;  ///< (G·D, C), (G·D)
  LinearWeights o;     ///< (C, H·D), (C)
};

/// One layer: attention, then the feed-forward, each behind a norm of its own.
struct LayerWeights {
  NormWeights attention_norm;
  AttentionWeights attention;
  NormWeights ffn_norm;
  LinearWeights gate;  ///< (F, C); empty up to lesson 12
  LinearWeights up;    ///< (F, C), (F)
  LinearWeights down;  ///< (C, F), (C)
};

/// The whole model, as config.json and model.safetensors describe it.
struct DecoderWeights {
  ConstTensor token_embedding;     ///< (V, C)
  ConstTensor position_embedding;  ///< (context, C); empty with rotary positions
  RopeTables rotary;               ///< (context, D/2) each; empty with learned positions
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  LinearWeights output;      ///< (V, C), (V)
  float epsilon = 0;         ///< of every norm
  int64_t num_heads = 1;     ///< H
  int64_t num_kv_heads = 1;  ///< G
};

}  // namespace rungs
