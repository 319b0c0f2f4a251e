// A .bin file of llama2.c.
#include "rungs/checkpoint/llama2c.hpp"

#include "fuzz.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = fuzz::file("model.bin", {reinterpret_cast<const char*>(data), size});
  return fuzz::try_to([&] { fuzz::touch(open_llama2c(path)); });
}
