#include "rungs/model/model.hpp"

#include "rungs/model/decoder.hpp"
#include "rungs/model/llama.hpp"

namespace rungs {

std::unique_ptr<Model> load_model(Ops& ops, const std::filesystem::path& directory, const LoadOptions& options) {
  if (load_config(directory).model_type == "llama") return std::make_unique<Llama>(ops, directory, options);
  return std::make_unique<Decoder>(ops, directory, options);
}

}  // namespace rungs
