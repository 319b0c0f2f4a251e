// A GGUF file: its metadata, tensors, tokenizer and model.
#include "rungs/checkpoint/gguf.hpp"

#include "fuzz.hpp"
#include "rungs/model/llama.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto path = fuzz::file("model.gguf", {reinterpret_cast<const char*>(data), size});
  fuzz::try_to([&] { fuzz::touch(open_gguf(path).tensors); });
  fuzz::try_to([&] { fuzz::use(*load_tokenizer(path), "One day, a little girl"); });
  return fuzz::try_to([&] { LlamaCheckpoint(path, 1); });
}
