// rungs random-model: a LLaMA of some size that was never trained, for benchmarks.
#include <fmt/format.h>

#include "commands.hpp"
#include "rungs/base/terminal.hpp"
#include "rungs/model/convert.hpp"
#include "rungs/model/llama_layout.hpp"
#include "rungs/model/presets.hpp"
#include "rungs/model/random_llama.hpp"

namespace rungs {

int make_random_model(const RandomModelCommand& command) {
  std::optional<Config> config = preset(command.shape);
  if (!config)
    throw UsageError(fmt::format("shape: wanted {}, found \"{}\"", fmt::join(shape_names(), ", "), command.shape));
  if (command.dtype != "f32" && command.dtype != "bf16")
    throw UsageError(fmt::format("dtype: wanted f32 or bf16, found \"{}\"", command.dtype));
  if (command.context < 0) throw UsageError(fmt::format("context: wanted at least 1, found {}", command.context));
  if (command.context > 0) config->max_seq_len = command.context;
  const DType dtype = command.dtype == "bf16" ? DType::bf16 : DType::f32;

  check_new_folder(command.directory);
  const NewFolder folder(command.directory);
  int64_t parameters = 0;
  for (const TensorLayout& tensor : llama_tensors(*config)) parameters += tensor.shape.count();
  Progress progress("Writing " + command.directory, parameters * int64_t(bytes_of(dtype)));
  save_random_llama(command.directory, *config, dtype, command.seed, [&](int64_t bytes) { progress.advance(bytes); });
  return 0;
}

}  // namespace rungs
