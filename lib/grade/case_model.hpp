/// The weights of a case: a model of weights/, or those of one sublayer among its inputs.
#pragma once

#include "grade/case.hpp"
#include "model/decoder.hpp"

namespace rungs {

/// The checkpoint under weights/ that the case names, opened once in a runner process. \throws FileError
const DecoderCheckpoint& model_of(const CaseInput& in);

/// Views of the inputs NAME.weight and NAME.bias. \throws FileError
LinearWeights linear_of(const CaseInput& in, const std::string& name);

/// Views of the inputs q, k, v and o. \throws FileError
AttentionWeights attention_of(const CaseInput& in);

}  // namespace rungs
