// tokenizer.model, of SentencePiece or of tiktoken.
#include "fuzz.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = fuzz::file("tokenizer.model", {reinterpret_cast<const char*>(data), size});
  return fuzz::try_to([&] { fuzz::use(*load_tokenizer(path), "One day, a little girl. <s> \xe2\x96\x81\xc3\xa4 42"); });
}
