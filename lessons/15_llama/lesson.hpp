/// Lesson 15: LLaMA from its own files, for many prompts at once.
#pragma once

#include <functional>
#include <vector>

#include "rungs/checkpoint/safetensors.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/model/llama.hpp"

/// Lesson 15, 15_llama.
namespace lesson_15 {

using namespace rungs;

/// The tokens of one text.
using Ids = std::vector<int32_t>;

/// cos and sin of p · f_i for each position p of the context and each pair i < D/2.  (context, D/2) each. f_i is the
/// frequency of lesson 11, θ^(-2i/D), slowed down as rope.scaling says: none, linear or llama3.
/// Chen and others 2023, "Extending Context Window of Large Language Models via Positional Interpolation", section 2.3;
/// Llama 3.1's own rule has no paper: its reference code defines it.
RopeTables rotary_table(const RopeConfig& rope, int64_t head_dim, int64_t context);

/// The weight of the output projection, (V, C): the tensor lm_head.weight, or the token embedding once more where
/// config.tied says that the model has no other. The same memory as the file's, not a copy. Press and Wolf 2017, "Using
/// the Output Embedding to Improve Language Models".
ConstTensor output_weight(const TensorSet& file, const Config& config);

/// Every row attends to the tokens of its own sequence up to itself.  out, x: (N, C), x after the norm. Row n is a
/// token of sequence batch.sequence[n] at batch.position[n]; its key and value go there in the cache, and what stands
/// before it is there already.  cache.k, cache.v: (B, capacity, G, D).
void attention(Ops& ops, Tensor& out, const Tensor& x, const LlamaLayer& layer, const LlamaWeights& w,
               const Batch& batch, LayerCache& cache);

/// x += down(silu(gate(h)) ∘ up(h)), h = rms_norm(x).  x: (N, C), in place.
void feed_forward(Ops& ops, Tensor& x, const LlamaLayer& layer, float epsilon);

/// One call of the model for rows of any sequences: prompts, single steps, or both.
/// logits: (M, V), a row for each of batch.logit_rows; one LayerCache a layer.
/// \throws ShapeError past the end of the cache or of the context, and for a token that the model does not know.
void llama_forward(Ops& ops, Tensor& logits, const Batch& batch, const LlamaWeights& w, KvCache& cache);

/// Continues every prompt, after `bos`, until it has one of options.stop, which is kept, or options.max_tokens, or the
/// context is full. Prompts may differ in length, and all that have not ended share one call of the model in each step.
/// Returns what was made for each. For each token draw(b) is called once, b being its sequence, and then show(b,
/// token).
std::vector<Ids> generate(Ops& ops, const LlamaWeights& w, int32_t bos, const std::vector<Ids>& prompts,
                          const GenerateOptions& options, const std::function<double(int64_t)>& draw,
                          const std::function<void(int64_t, int32_t)>& show);

}  // namespace lesson_15
