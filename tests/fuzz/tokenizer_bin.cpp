// tokenizer.bin of llama2.c.
#include "fuzz.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = fuzz::file("tokenizer.bin", {reinterpret_cast<const char*>(data), size});
  return fuzz::try_to([&] { fuzz::use(*load_tokenizer(path), "One day, a little girl. <s> \xc3\xa4 42"); });
}
