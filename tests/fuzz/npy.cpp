// A .npy file.
#include "rungs/tensor/npy.hpp"

#include "fuzz.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::try_to([&] { parse_npy({reinterpret_cast<const std::byte*>(data), size}, "an input"); });
}
