/// LLaMA whose steps of decoding are those of lesson 20.
#pragma once

#include <filesystem>
#include <memory>

#include "my_kernels.hpp"
#include "rungs/model/model.hpp"

namespace rungs {

/// Where every row is the next token of its own sequence, lesson 20's llama_forward computes the call, and with it the
/// RMSNorm of lesson 18 and the attention of lesson 19. Prompts run on the operations of `kernels`, where products have
/// many rows. Lesson 20 knows f32 alone, so the weights are on the device twice. `kernels` outlives the model.
/// \throws as load_model
std::unique_ptr<Model> llama_with_my_step(MyKernels& kernels, const std::filesystem::path& path,
                                          const LoadOptions& options);

}  // namespace rungs
