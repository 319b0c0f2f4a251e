// A .safetensors file.
#include "rungs/checkpoint/safetensors.hpp"

#include "fuzz.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = fuzz::file("model.safetensors", {reinterpret_cast<const char*>(data), size});
  return fuzz::try_to([&] { fuzz::touch(SafeTensors(path)); });
}
