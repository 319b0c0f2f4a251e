// case.json of a reference case.
#include "rungs/grader/case.hpp"

#include "fuzz.hpp"

using namespace rungs;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::file("case.json", {reinterpret_cast<const char*>(data), size});
  return fuzz::try_to([&] { load_case(fuzz::folder()); });
}
