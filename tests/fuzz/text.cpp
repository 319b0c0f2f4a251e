// A prompt, for the tokenizers of this repository: no text may take long, and ids give their bytes back.
#include "fuzz.hpp"
#include "rungs/base/file.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto stories = load_tokenizer(weights_directory() / "stories"),
                    bpe = load_tokenizer(weights_directory() / "references/models/bpe_small");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::try_to([&] { fuzz::use(*stories, text); });
  return fuzz::try_to([&] { fuzz::use(*bpe, text); });
}
