/// What the fuzzers share: a file of one input, and what a reader may do with it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "rungs/base/error.hpp"
#include "rungs/checkpoint/tensor_set.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

namespace rungs::fuzz {

/// One input, made by libFuzzer or kept from an earlier run. Where a reader wants two texts, they stand in one input,
/// with a byte 0xff between them, which no UTF-8 has.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  /// What stands before the next 0xff.
  std::string_view next() {
    const size_t end = std::min(rest_.find('\xff'), rest_.size());
    const std::string_view part = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return part;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// A folder of this process in memory, where the system has that.
inline const std::filesystem::path& folder() {
  static const std::filesystem::path made = [] {
    const std::filesystem::path memory = "/dev/shm";
    const auto parent = std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    std::string name = (parent / "rungs_fuzz_XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error("no folder for the inputs of a fuzzer");
    return std::filesystem::path(name);
  }();
  static const struct AtEnd {
    ~AtEnd() { std::filesystem::remove_all(made); }
  } at_end;
  return made;
}

/// A file of that folder: on the disk where kept inputs are replayed (replay.cpp), and where libFuzzer runs served from
/// memory, as long as `content` lives (in_memory.cpp).
std::filesystem::path file(const char* name, std::string_view content);

/// A reader may refuse what it is given, with an Error. Everything else is a fault.
template <class Read>
int try_to(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
  return 0;
}

/// Reads every byte of every tensor, as a model would.
inline void touch(const TensorSet& set) {
  volatile unsigned sum = 0;
  for (const std::string& name : set.names()) {
    const ConstTensor& t = set.get(name);
    const auto* bytes = static_cast<const unsigned char*>(t.raw());
    for (size_t i = 0; i < t.bytes(); ++i) sum = sum + bytes[i];
  }
}

/// Encodes a text and reads the ids back.
inline void use(const Tokenizer& tokenizer, std::string_view text) {
  text = text.substr(0, 1000);
  const std::vector<int32_t> ids = tokenizer.encode(text);
  tokenizer.decode(ids);
  tokenizer.decode(tokenizer.encode_with_specials(text));
  for (const int32_t id : ids) tokenizer.name_of(id);
}

}  // namespace rungs::fuzz

/// What libFuzzer, or replay.cpp, calls.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
