// tokenizer.json of Hugging Face, or vocabulary.json, and a text for it.
#include "fuzz.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const auto path = fuzz::file("tokenizer.json", input.next());
  return fuzz::try_to([&] { fuzz::use(*load_tokenizer(path), input.rest()); });
}
