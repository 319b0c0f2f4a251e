// A .npy file.
#include "fuzz.hpp"
#include "rungs/tensor/npy.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::try_to([&] { parse_npy({reinterpret_cast<const std::byte*>(data), size}, "an input"); });
}
