#include "rungs/model/model.hpp"

#include "rungs/model/decoder.hpp"
#include "rungs/model/llama.hpp"

namespace rungs {

std::unique_ptr<Model> load_model(const Backend& backend, const std::filesystem::path& directory,
                                  const LoadOptions& options) {
  if (load_config(directory).is_llama()) return std::make_unique<Llama>(backend, directory, options);
  return std::make_unique<Decoder>(backend, directory, options);
}

}  // namespace rungs
