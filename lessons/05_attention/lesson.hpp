/// Lesson 5: self-attention, with which a token reads the others.
#pragma once

#include "rungs/model/weights.hpp"
#include "rungs/ops/ops.hpp"

/// Lesson 5, 05_attention.
namespace lesson_05 {

using namespace rungs;

/// Each row becomes exp(x) / Σ exp(x), computed so that no exp overflows.  x: (T, S), in place.
void softmax(Tensor& x);

/// out = softmax(q · kᵀ / √D) · v: every query reads every value, by how well its key fits.
/// out, q: (T, D); k, v: (S, D).  Vaswani and others 2017, "Attention Is All You Need", equation 1.
void sdpa(Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v);

/// out = sdpa(x·Wqᵀ + bq, x·Wkᵀ + bk, x·Wvᵀ + bv) · Woᵀ + bo.  out, x: (T, C); Wq, Wk, Wv: (D, C); Wo: (C, D).
void attention(Ops& ops, Tensor& out, const Tensor& x, const AttentionWeights& w);

}  // namespace lesson_05
