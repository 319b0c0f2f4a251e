/// Lesson 2: from text to token ids and the first logits, a model with no layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 2, 02_embedding.
namespace lesson_02 {

using namespace rungs;

/// Row t of x is the vector of its token plus the vector of its position, t.
/// x: (T, C); tokens: (T) i32; token_embedding: (V, C); position_embedding: (context, C).
/// \throws ShapeError for a token that is not in [0, V) and for more tokens than positions:
/// nothing is clamped.
void embed(Tensor& x, const Tensor& tokens, const Tensor& token_embedding, const Tensor& position_embedding);

/// logits = embed(tokens) · Wᵀ + b with the output projection: a decoder without layers.
/// logits: (T, V); tokens: (T) i32.
void decoder_forward(Ops& ops, Tensor& logits, const Tensor& tokens, const DecoderWeights& w);

/// The ids of a text, which is cut from left to right: at each place, the longest token that the rest begins with. A
/// text that begins with neither a space nor a newline gets a space in front.
/// tokens[i] is the text of id i; 0 is `<bos>` and 1 is `<eos>`, which match no text. The caller puts `<bos>` in front.
/// \throws UsageError where the rest begins with no token: nothing is skipped.
std::vector<int32_t> encode(const std::vector<std::string>& tokens, std::string_view text);

}  // namespace lesson_02
