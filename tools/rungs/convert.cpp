// rungs convert: a LLaMA from one kind of file to another.
#include "rungs/model/convert.hpp"

#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "rungs/base/terminal.hpp"

namespace rungs {

int convert_checkpoint(const ConvertCommand& command) {
  ConvertOptions options;
  options.bin_version = command.bin_version;
  if (command.dtype == "f32")
    options.dtype = DType::f32;
  else if (command.dtype == "bf16")
    options.dtype = DType::bf16;
  else if (!command.dtype.empty())
    throw UsageError(fmt::format("dtype: wanted f32 or bf16, found \"{}\"", command.dtype));
  std::unique_ptr<Progress> progress;
  convert_llama(
      command.from, command.to, options,
      [&](int64_t bytes) { progress = std::make_unique<Progress>("Writing " + command.to, bytes); },
      [&](int64_t bytes) { progress->advance(bytes); });
  return 0;
}

}  // namespace rungs
