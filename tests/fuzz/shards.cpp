// An index of shards, and the one shard that is there.
#include "rungs/checkpoint/shards.hpp"

#include "fuzz.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  fuzz::file("model.safetensors.index.json", input.next());
  fuzz::file("a.safetensors", input.rest());
  return fuzz::try_to([&] { fuzz::touch(open_shards(fuzz::folder())); });
}
