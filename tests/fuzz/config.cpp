// config.json and generation_config.json.
#include "rungs/model/config.hpp"

#include "fuzz.hpp"
#include "rungs/model/generation_config.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::file("config.json", text);
  fuzz::file("generation_config.json", text);
  fuzz::try_to([&] { load_config(fuzz::folder()); });
  return fuzz::try_to([&] { load_generation_config(fuzz::folder(), 512); });
}
